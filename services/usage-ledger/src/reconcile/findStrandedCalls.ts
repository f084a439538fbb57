import type { RedisCounters } from '@turnpike/internal-api/modelRouter';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';

/** Pending calls that should not be pending any more. */
export interface StrandedCalls {
  /** Recorded with their final ending a minute ago, which every router would have taken over by now. */
  overdue: string[];
  /** Held under a session that has lapsed, or for longer than any job lasts: nothing will settle them. */
  ownerless: string[];
}

const TAKEN_OVER_SECONDS = 60;
/** A dead router's calls are recorded within two leases of its death, 120 s. A minute is for the walk over them. */
const SWEPT_MS = 180_000;
/** Longer than a stream of 65,536 tokens may last: a hold without a session is then not one that has only just lost it. */
const LONGEST_CALL_MS = 14_400_000;
/** Longer than a media job waits, runs and is stored together. */
const LONGEST_JOB_MS = 21_600_000;

interface Found {
  overdue: string[];
  heard: string[];
}

/** Finds the stranded calls among the pending calls of a workspace. */
export async function findStrandedCalls(
  db: Db,
  workspaceId: string,
  { calls, now_ms: nowMs }: Pick<RedisCounters, 'calls' | 'now_ms'>,
): Promise<StrandedCalls> {
  const ids = calls.map(({ call_id: callId }) => callId);
  const [found = { overdue: [], heard: [] }] = await db.query(sql<Found>`
    SELECT
      coalesce((
        SELECT jsonb_agg(call_id) FROM unnest(${ids}::UUID[]) AS id JOIN usage_request ON call_id = id
        WHERE workspace_id = ${workspaceId} AND status <> 'unknown'
          AND recorded_at < clock_timestamp() - make_interval(secs => ${TAKEN_OVER_SECONDS})
      ), '[]') AS "overdue",
      coalesce((
        SELECT jsonb_agg(router_id) FROM router
        WHERE heard_at > clock_timestamp() - make_interval(secs => ${SWEPT_MS / 1_000})
      ), '[]') AS "heard"`);
  const heard = new Set(found.heard);
  const ownerless = calls.filter(({ kind, has_live_session: isOwned, owner, admitted_at_ms: admittedAtMs }) => {
    if (kind !== 'held') return false;
    if (isOwned) return nowMs - admittedAtMs > LONGEST_JOB_MS;
    return nowMs - admittedAtMs > (heard.has(owner) ? LONGEST_CALL_MS : SWEPT_MS);
  });
  return { overdue: found.overdue, ownerless: ownerless.map(({ call_id: callId }) => callId) };
}
