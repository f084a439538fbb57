import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Db } from '../database/createDb.ts';

/** What a workspace was given and what it has spent, all of one instant. */
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
  const firstDay = `${month}-01`;
  // One statement sees one state: a charge is in every sum or in none, and with it its call among those recorded.
  const [row] = await db.$queryRaw<BalancesRow[]>`
    SELECT
      (SELECT coalesce(max(seq), 0)::TEXT FROM credit WHERE workspace_id = ${workspaceId}) AS "creditSeq",
      (SELECT coalesce(sum(amount_nano_usd), 0)::TEXT FROM credit WHERE workspace_id = ${workspaceId}) AS "credited",
      coalesce((SELECT charge_nano_usd::TEXT FROM workspace_total WHERE workspace_id = ${workspaceId}), '0') AS "spent",
      coalesce((
        SELECT jsonb_object_agg(to_char(month, 'YYYY-MM'), charge_nano_usd::TEXT) FROM workspace_month_total
        WHERE workspace_id = ${workspaceId} AND month >= ${firstDay}::DATE
      ), '{}') AS "months",
      coalesce((
        SELECT jsonb_object_agg(key_id, charge_nano_usd::TEXT) FROM key_total WHERE workspace_id = ${workspaceId}
      ), '{}') AS "keys",
      (SELECT coalesce(sum(requests), 0)::TEXT FROM key_total WHERE workspace_id = ${workspaceId}) AS "requests",
      coalesce((
        SELECT jsonb_agg(call_id) FROM usage_request
        WHERE workspace_id = ${workspaceId} AND call_id = ANY(${callIds}::UUID[])
      ), '[]') AS "recorded"`;
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
