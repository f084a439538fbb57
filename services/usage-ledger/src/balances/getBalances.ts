import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Db } from '../database/createDb.ts';
import { statements } from '../database/statements.ts';

/** Credits and charges of a workspace, of one instant. */
export interface Balances {
  creditedNanoUsd: NanoUsd;
  spentNanoUsd: NanoUsd;
  /** In the requested month. */
  monthSpentNanoUsd: NanoUsd;
  spentNanoUsdByKey: Map<string, NanoUsd>;
  /** Calls recorded, however they ended. */
  requests: bigint;
}

/** Returns the sums of everything recorded; all zero for an unknown workspace. `month` is a UTC month as `YYYY-MM`. */
export async function getBalances(
  db: Db,
  { workspaceId, month }: { workspaceId: string; month: string },
): Promise<Balances> {
  const [row] = await db.query(statements.readBalances({ workspaceId, month }));
  if (!row) throw new Error('a SELECT of sums gave no row');
  return {
    creditedNanoUsd: BigInt(row.credited),
    spentNanoUsd: BigInt(row.spent),
    monthSpentNanoUsd: BigInt(row.monthSpent),
    spentNanoUsdByKey: new Map(Object.entries(row.keys).map(([keyId, amount]) => [keyId, BigInt(amount)])),
    requests: BigInt(row.requests),
  };
}
