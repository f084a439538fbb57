import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Db } from '../database/createDb.ts';
import { statements } from '../database/statements.ts';

/** The balances of a workspace at one instant: what it was given, and what it has spent. */
export interface Balances {
  /** `seq` of the last credit counted in; 0 without any. */
  creditSeq: bigint;
  creditedNanoUsd: NanoUsd;
  spentNanoUsd: NanoUsd;
  /** By `YYYY-MM`: the month asked for, and later ones that have any, for a clock that was set back over the turn of a month. */
  spentNanoUsdByMonth: Map<string, NanoUsd>;
  spentNanoUsdByKey: Map<string, NanoUsd>;
  /** Calls recorded, however they ended. */
  requests: bigint;
  /** Which of the calls asked for are among them. */
  recordedCallIds: string[];
}

interface BalancesRow {
  creditSeq: string;
  credited: string;
  spent: string;
  months: Record<string, string>;
  keys: Record<string, string>;
  requests: string;
  recorded: string[];
}

/**
 * Sums of everything recorded; all zero for a workspace nobody has heard of. `month` is a UTC month as `YYYY-MM`; `callIds` are
 * UUIDs.
 */
export async function getBalances(
  db: Db,
  { workspaceId, month, callIds = [] }: { workspaceId: string; month: string; callIds?: string[] },
): Promise<Balances> {
  const [row] = await db.$queryRaw<BalancesRow[]>(statements.readBalances({ workspaceId, month, callIds }));
  if (!row) throw new Error('a SELECT of sums gave no row');
  return {
    creditSeq: BigInt(row.creditSeq),
    creditedNanoUsd: BigInt(row.credited),
    spentNanoUsd: BigInt(row.spent),
    spentNanoUsdByMonth: toAmounts({ [month]: '0', ...row.months }),
    spentNanoUsdByKey: toAmounts(row.keys),
    requests: BigInt(row.requests),
    recordedCallIds: row.recorded,
  };
}

const toAmounts = (texts: Record<string, string>): Map<string, NanoUsd> =>
  new Map(Object.entries(texts).map(([name, amount]) => [name, BigInt(amount)]));
