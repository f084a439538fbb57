import type { RecoveryState } from '../recovery/describeRecovery.ts';

/**
 * Returns the recovery state as a body. Instants are of the database's clock; `lag` is null while the event log does
 * not answer.
 */
export function toRecoveryBody(
  { now, gates, routers, closedMs, timeline, caughtUpWith }: RecoveryState,
  lag: bigint | null,
) {
  const since = (ms: number): string => new Date(now.getTime() - ms).toISOString();
  return {
    now: now.toISOString(),
    closed_since: closedMs === null || closedMs === 0 ? null : since(closedMs),
    gates: gates.map(({ shard, redisId, mark, isOpen, forMs, seenBy, waitsFor }) => ({
      shard,
      redis_id: redisId,
      mark,
      is_open: isOpen,
      since: since(forMs),
      seen_by: seenBy,
      waits_for: waitsFor,
    })),
    routers: routers.map(({ shard, routerId, service, host, redisId, state, lackingMs, isOverdue }) => ({
      shard,
      router_id: routerId,
      service,
      host,
      redis_id: redisId,
      state,
      since: state === 'admits' ? null : since(lackingMs),
      is_overdue: isOverdue,
    })),
    timeline: { current: timeline, caught_up_with: caughtUpWith, lag_records: lag === null ? null : Number(lag) },
  };
}
