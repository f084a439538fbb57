import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Queryable } from '@turnpike/postgres/database';
import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';
import { type AbsorbedRow, type AskedWorkspace, statements } from '../database/statements.ts';

/** Sums of a workspace, and the calls that these sums contain. */
export interface AbsorbedWorkspace {
  workspaceId: string;
  /**
   * Number of transactions that changed the workspace's sums. Within one timeline, sums of a higher number contain
   * those of a lower one.
   */
  seq: number;
  /** Credited minus recorded amounts. */
  leftNanoUsd: NanoUsd;
  /** Sums by `YYYY-MM`: the requested month, later ones, and those of the recorded calls. */
  spentNanoUsdByMonth: Map<string, NanoUsd>;
  /** Sums of the requested keys and of the recorded calls' keys. */
  spentNanoUsdByKey: Map<string, NanoUsd>;
  /** Spend of calls admitted since the requested day, by key. */
  sinceByKey: Map<string, { day: string; spentNanoUsd: NanoUsd }>;
  /** The given calls that these sums contain: with their final ending, and as `unknown`. */
  finalCallIds: string[];
  unknownCallIds: string[];
  /** The given calls with a dead letter that waits for a replay. */
  deadLetterCallIds: string[];
}

/** All values are of one instant. */
export interface Absorbed {
  timeline: number;
  workspaces: AbsorbedWorkspace[];
}

/**
 * Returns the sums of some workspaces, each named once, and the pending calls that these sums contain. Throws
 * `balances_catching_up` after a start or takeover of the database. That lasts until the event log is read again up to
 * its end at that time. Calls recorded earlier may have no row here; they are pending nowhere.
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
