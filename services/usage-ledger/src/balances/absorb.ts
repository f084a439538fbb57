import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Queryable } from '@turnpike/postgres/database';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';
import { type AbsorbedRow, type AskedWorkspace, statements } from '../database/statements.ts';

/** Sums of a workspace, and the calls that they contain. */
export interface AbsorbedWorkspace {
  workspaceId: string;
  /** Counts the transactions that changed its sums: within one timeline, sums of a higher one contain those of a lower one. */
  seq: number;
  /** Credited less recorded. */
  leftNanoUsd: NanoUsd;
  /** Sums by `YYYY-MM`: the month asked for, later ones, and those of the recorded calls. */
  spentNanoUsdByMonth: Map<string, NanoUsd>;
  /** The keys asked for, and those of the calls that are recorded. */
  spentNanoUsdByKey: Map<string, NanoUsd>;
  /** Spend of calls admitted from the asked day on, by key. */
  sinceByKey: Map<string, { day: string; spentNanoUsd: NanoUsd }>;
  /** Which of the calls these sums contain: with their final ending, and as `unknown`. */
  finalCallIds: string[];
  unknownCallIds: string[];
  /** Which of the calls have a dead letter that waits to be replayed. */
  deadLetterCallIds: string[];
}

/** All of one instant. */
export interface Absorbed {
  timeline: number;
  workspaces: AbsorbedWorkspace[];
}

/**
 * Returns the sums of some workspaces, each named once, and the pending calls that these sums contain. Throws
 * `balances_catching_up` on a database that was started or took over from another, until the event log is read again as far as it
 * went then. Calls that were recorded before may have no row here, and are pending nowhere any more.
 */
export async function absorb(db: Queryable, asked: AskedWorkspace[]): Promise<Absorbed> {
  const rows = await db.query(statements.absorb(asked));
  const [first] = rows;
  if (!first) throw new Error('no row for any workspace asked for');
  if (first.caughtUpWith !== first.timeline) throw new ApiError<LedgerFault>({ kind: 'balances_catching_up' });
  return { timeline: first.timeline, workspaces: rows.map(toAbsorbed) };
}

const toAbsorbed = (row: AbsorbedRow): AbsorbedWorkspace => ({
  workspaceId: row.workspaceId,
  seq: Number(row.seq),
  leftNanoUsd: BigInt(row.left),
  spentNanoUsdByMonth: toAmounts(row.months),
  spentNanoUsdByKey: toAmounts(row.keys),
  sinceByKey: new Map(
    Object.entries(row.since).map(([keyId, { day, spent }]) => [keyId, { day, spentNanoUsd: BigInt(spent) }]),
  ),
  finalCallIds: row.final,
  unknownCallIds: row.unknown,
  deadLetterCallIds: row.deadLetters,
});

const toAmounts = (texts: Record<string, string>): Map<string, NanoUsd> =>
  new Map(Object.entries(texts).map(([name, amount]) => [name, BigInt(amount)]));
