import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Db } from '../database/createDb.ts';

/** What a workspace was given and what it has spent, all of one instant. */
export interface Balances {
  /** `seq` of the last credit counted in; 0 without any. */
  creditSeq: bigint;
  creditedNanoUsd: NanoUsd;
  spentNanoUsd: NanoUsd;
  monthSpentNanoUsd: NanoUsd;
  spentNanoUsdByKey: Map<string, NanoUsd>;
  /** Calls recorded, however they ended. */
  requests: bigint;
}

interface BalancesRow {
  creditSeq: string;
  credited: string;
  spent: string;
  monthSpent: string;
  keys: Record<string, string>;
  requests: string;
}

/** Sums of everything recorded; all zero for a workspace nobody has heard of. `month` is a UTC month as `YYYY-MM`. */
export async function getBalances(
  db: Db,
  { workspaceId, month }: { workspaceId: string; month: string },
): Promise<Balances> {
  const firstDay = `${month}-01`;
  // One statement sees one state: a charge is in every sum or in none.
  const [row] = await db.$queryRaw<BalancesRow[]>`
    SELECT
      (SELECT coalesce(max(seq), 0)::TEXT FROM credit WHERE workspace_id = ${workspaceId}) AS "creditSeq",
      (SELECT coalesce(sum(amount_nano_usd), 0)::TEXT FROM credit WHERE workspace_id = ${workspaceId}) AS "credited",
      coalesce((SELECT charge_nano_usd::TEXT FROM workspace_total WHERE workspace_id = ${workspaceId}), '0') AS "spent",
      coalesce((
        SELECT charge_nano_usd::TEXT FROM workspace_month_total
        WHERE workspace_id = ${workspaceId} AND month = ${firstDay}::DATE
      ), '0') AS "monthSpent",
      coalesce((
        SELECT jsonb_object_agg(key_id, charge_nano_usd::TEXT) FROM key_total WHERE workspace_id = ${workspaceId}
      ), '{}') AS "keys",
      (
        SELECT coalesce(sum(requests), 0)::TEXT FROM key_hour_total
        WHERE key_id IN (SELECT key_id FROM key_total WHERE workspace_id = ${workspaceId})
      ) AS "requests"`;
  if (!row) throw new Error('a SELECT of sums gave no row');
  return {
    creditSeq: BigInt(row.creditSeq),
    creditedNanoUsd: BigInt(row.credited),
    spentNanoUsd: BigInt(row.spent),
    monthSpentNanoUsd: BigInt(row.monthSpent),
    spentNanoUsdByKey: new Map(Object.entries(row.keys).map(([keyId, spent]) => [keyId, BigInt(spent)])),
    requests: BigInt(row.requests),
  };
}
