import type { RedisCounters } from '@turnpike/internal-api/modelRouter';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Db } from '../database/createDb.ts';

/** The ledger's sums of a workspace, cut off at an instant at which Redis was read. */
export interface LedgerCut {
  /** All credits, and those after the last one of Redis that it need not know of by now. */
  creditedNanoUsd: NanoUsd;
  notAskedForNanoUsd: NanoUsd;
  /** Charges of the calls that had ended by then. */
  spentNanoUsd: NanoUsd;
  spentNanoUsdByKey: Map<string, NanoUsd>;
  /** Of calls admitted in the month of that instant. */
  monthSpentNanoUsd: NanoUsd;
  /** Calls admitted by then that are recorded by now. */
  calls: bigint;
  /** Which of the calls that were open then are recorded by now. */
  recorded: Set<string>;
}

interface CutRow {
  credited: string;
  notAskedFor: string;
  total: string;
  month: string;
  calls: string;
  keys: Record<string, string>;
  apart: { callId: string; keyId: string; charge: string; month: string; isLater: boolean }[];
}

/** How far the clock of a router, which is in the call's id, may be behind Redis', which dates the admission. */
const CLOCK_TOLERANCE_MS = 60 * 60 * 1_000;
/** A credit that takes is announced to the gate at once; one that gives, only asked for when a call is refused. */
const ANNOUNCED_WITHIN_SECONDS = 60;

/**
 * The ledger's sums as of the instant of `counters`: without the charges of calls that were admitted later, or were still open.
 * Both are known exactly, as admissions are dated by Redis' clock, so nothing needs to stand still.
 */
export async function readCut(db: Db, workspaceId: string, counters: RedisCounters): Promise<LedgerCut> {
  const at = new Date(counters.now_ms);
  const month = at.toISOString().slice(0, 7);
  const openIds = counters.calls.map(({ call_id: callId }) => callId);
  const [row] = await db.$queryRaw<CutRow[]>`
    WITH apart AS (
      SELECT call_id, key_id, charge_nano_usd, started_at FROM usage_request
      WHERE workspace_id = ${workspaceId} AND started_at > ${at}
        AND call_id >= first_call_id_at(${new Date(counters.now_ms - CLOCK_TOLERANCE_MS)})
      UNION
      SELECT call_id, key_id, charge_nano_usd, started_at FROM usage_request
      WHERE call_id = ANY(${openIds}::UUID[]) AND workspace_id = ${workspaceId}
    )
    SELECT
      (SELECT coalesce(sum(amount_nano_usd), 0)::TEXT FROM credit WHERE workspace_id = ${workspaceId}) AS "credited",
      (SELECT coalesce(sum(amount_nano_usd), 0)::TEXT FROM credit
        WHERE workspace_id = ${workspaceId} AND seq > ${counters.credit_seq}
          AND (amount_nano_usd > 0 OR created_at > now() - make_interval(secs => ${ANNOUNCED_WITHIN_SECONDS}))
      ) AS "notAskedFor",
      coalesce((SELECT charge_nano_usd FROM workspace_total WHERE workspace_id = ${workspaceId}), 0)::TEXT AS "total",
      coalesce((
        SELECT charge_nano_usd FROM workspace_month_total
        WHERE workspace_id = ${workspaceId} AND month = ${`${month}-01`}::DATE
      ), 0)::TEXT AS "month",
      (SELECT coalesce(sum(requests), 0)::TEXT FROM key_total WHERE workspace_id = ${workspaceId}) AS "calls",
      coalesce((
        SELECT jsonb_object_agg(key_id, charge_nano_usd::TEXT) FROM key_total WHERE workspace_id = ${workspaceId}
      ), '{}') AS "keys",
      coalesce((
        SELECT jsonb_agg(jsonb_build_object(
          'callId', call_id, 'keyId', key_id, 'charge', charge_nano_usd::TEXT,
          'month', to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM'), 'isLater', started_at > ${at}
        )) FROM apart
      ), '[]') AS "apart"`;
  if (!row) throw new Error('a SELECT of sums gave no row');
  return cutOff(row, counters, month);
}

function cutOff(row: CutRow, counters: RedisCounters, currentMonth: string): LedgerCut {
  const states = new Map(counters.calls.map(({ call_id: callId, state }) => [callId, state]));
  const byKey = new Map(Object.entries(row.keys).map(([keyId, spent]) => [keyId, BigInt(spent)]));
  const cut: LedgerCut = {
    creditedNanoUsd: BigInt(row.credited),
    notAskedForNanoUsd: BigInt(row.notAskedFor),
    spentNanoUsd: BigInt(row.total),
    spentNanoUsdByKey: byKey,
    monthSpentNanoUsd: BigInt(row.month),
    calls: BigInt(row.calls),
    recorded: new Set(),
  };
  for (const { callId, keyId, charge, month, isLater } of row.apart) {
    if (isLater) cut.calls -= 1n;
    else cut.recorded.add(callId);
    if (!isLater && states.get(callId) === 'settled') continue;
    cut.spentNanoUsd -= BigInt(charge);
    if (month === currentMonth) cut.monthSpentNanoUsd -= BigInt(charge);
    byKey.set(keyId, (byKey.get(keyId) ?? 0n) - BigInt(charge));
  }
  return cut;
}
