import type { RecoveryBody } from '@turnpike/internal-api/usageLedger';
import { sql } from '@turnpike/postgres/sql';
import type { Db } from '../database/createDb.ts';
import { LISTENING } from '../database/statements.ts';
import { LONGEST_WAIT_MS } from './judgeAdmissionState.ts';

type HoldingService = NonNullable<RecoveryBody['routers'][number]['service']>;

/**
 * The state of a router.
 * - `admits`: it admits calls.
 * - `waits`: it has re-registered its own calls and waits for other routers.
 * - `has_not_put_back`: it has not re-registered its calls in the Redis that it sees.
 * - `sees_no_redis`: no Redis answers it as a primary.
 * - `is_stranger`: other routers count in another Redis.
 * - `is_silent`: it is dead or cut off from the ledger, and recovery no longer waits for it.
 */
type RouterState = 'admits' | 'waits' | 'has_not_put_back' | 'sees_no_redis' | 'is_stranger' | 'is_silent';

export interface RouterRecovery {
  shard: string;
  routerId: string;
  /** Null for a router of the previous version. */
  service: HoldingService | null;
  host: string | null;
  redisId: string | null;
  state: RouterState;
  /** Whether no router admits calls of this shard. */
  isShardClosed: boolean;
  /** Time without admitted calls, or without a report; 0 if it admits. */
  lackingMs: number;
  /**
   * Whether `lackingMs` is above the recovery timeout, so that an operator has to act. Never true while it waits for
   * other routers.
   */
  isOverdue: boolean;
}

/** The admission state of a Redis that a router sees or that is open. */
interface GateState {
  shard: string;
  redisId: string;
  mark: string;
  isOpen: boolean;
  /** Time in the current state. */
  forMs: number;
  /** Reporting routers that see this Redis. */
  seenBy: number;
  /** Reporting routers that have not re-registered. The gate waits for them, and fences them once it is open. */
  waitsFor: string[];
}

export interface RecoveryState {
  now: Date;
  gates: GateState[];
  routers: RouterRecovery[];
  /** Time for which no router has admitted a call of some shard. 0 if every shard admits, null if no router reports. */
  closedMs: number | null;
  /** Timelines of the database and of the last reading of the event log to its end. Null before the first reading. */
  timeline: number;
  caughtUpWith: number | null;
}

interface KnownRouter extends Pick<RouterRecovery, 'service' | 'host'> {
  shard: string;
  routerId: string;
  redisId: string | null;
  putBackMark: string | null;
  isHeard: boolean;
  silentMs: number;
  behindMs: number | null;
}

interface KnownServer {
  shard: string;
  redisId: string;
  mark: string;
  isOpen: boolean;
  raisedMsAgo: number;
  openedMsAgo: number | null;
}

/** All reports with their times, of one instant. */
interface KnownRecovery extends Pick<RecoveryState, 'now' | 'timeline' | 'caughtUpWith'> {
  routers: KnownRouter[];
  servers: KnownServer[];
}

/** Reads the recovery state of the region's Redis and Postgres. Changes nothing. */
export async function readRecoveryState(db: Db): Promise<RecoveryState> {
  const [known] = await db.query(sql<KnownRecovery>`
    SELECT clock_timestamp() AS "now", current_timeline() AS "timeline", recovery.timeline AS "caughtUpWith",
      coalesce((
        SELECT jsonb_agg(jsonb_build_object('shard', shard, 'routerId', router_id, 'service', service, 'host', host,
          'redisId', redis_id, 'putBackMark', put_back_mark,
          'isHeard', clock_timestamp() - greatest(router.heard_at, listening_since)
            <= make_interval(secs => ${LISTENING.longestSilenceMs / 1_000}),
          'silentMs', extract(epoch FROM clock_timestamp() - router.heard_at) * 1000,
          'behindMs', extract(epoch FROM clock_timestamp() - behind_since) * 1000) ORDER BY shard, router_id)
        FROM router
      ), '[]') AS "routers",
      coalesce((
        SELECT jsonb_agg(jsonb_build_object('shard', shard, 'redisId', redis_id, 'mark', mark, 'isOpen', opened_at IS NOT NULL,
          'raisedMsAgo', extract(epoch FROM clock_timestamp() - raised_at) * 1000,
          'openedMsAgo', extract(epoch FROM clock_timestamp() - opened_at) * 1000) ORDER BY shard, redis_id)
        FROM redis_server
      ), '[]') AS "servers"
    FROM recovery`);
  if (!known) throw new Error('the row of recovery is gone');
  return describeRecovery(known);
}

/**
 * Returns, for each shard, the routers that admit calls. For every other router it returns what is missing, and for how
 * long.
 */
function describeRecovery({ routers, servers, ...rest }: KnownRecovery): RecoveryState {
  const heardOf = new Set(routers.filter(({ isHeard }) => isHeard).map(({ shard }) => shard));
  // A shard without a reporting router is dropped, because its slots have moved. If no router reports at all, every
  // shard is kept.
  const names = [...new Set(routers.map(({ shard }) => shard))].filter(
    (name) => heardOf.size === 0 || heardOf.has(name),
  );
  const shards = names.map((name) =>
    describeShard(
      routers.filter(({ shard }) => shard === name),
      servers.filter(({ shard }) => shard === name),
    ),
  );
  const closed = shards.flatMap(({ closedMs }) => (closedMs === null ? [] : [closedMs]));
  return {
    ...rest,
    gates: shards.flatMap(({ gates }) => gates),
    routers: shards.flatMap((shard) => shard.routers),
    closedMs: closed.length === 0 ? null : Math.max(...closed),
  };
}

function describeShard(
  routers: KnownRouter[],
  servers: KnownServer[],
): Pick<RecoveryState, 'gates' | 'routers' | 'closedMs'> {
  const heard = routers.filter(({ isHeard }) => isHeard);
  const votes = (redisId: string): number => heard.filter((router) => router.redisId === redisId).length;
  const open = servers.find(({ isOpen, redisId }) => isOpen && votes(redisId) > 0);
  const standings = routers.map((router) => describeRouter(router, { servers, open }));
  const lacking = standings.filter(({ state }) => state !== 'admits' && state !== 'is_silent');
  const isShardClosed = lacking.length === heard.length;
  return {
    gates: servers
      .filter(({ redisId, isOpen }) => isOpen || votes(redisId) > 0)
      .map(({ shard, redisId, mark, isOpen, raisedMsAgo, openedMsAgo }) => ({
        shard,
        redisId,
        mark,
        isOpen,
        forMs: openedMsAgo ?? raisedMsAgo,
        seenBy: votes(redisId),
        waitsFor: heard.filter(({ putBackMark }) => putBackMark !== mark).map(({ routerId }) => routerId),
      })),
    routers: standings.map((router) => ({ ...router, isShardClosed })),
    closedMs: heard.length === 0 ? null : isShardClosed ? Math.max(...lacking.map(({ lackingMs }) => lackingMs)) : 0,
  };
}

function describeRouter(
  router: KnownRouter,
  { servers, open }: { servers: KnownServer[]; open: KnownServer | undefined },
): Omit<RouterRecovery, 'isShardClosed'> {
  const { shard, routerId, redisId, putBackMark, behindMs } = router;
  const about = { shard, routerId, service: router.service, host: router.host, redisId };
  if (!router.isHeard) return { ...about, state: 'is_silent', lackingMs: router.silentMs, isOverdue: false };
  const server = servers.find((each) => each.redisId === redisId);
  const raisedMs = server?.raisedMsAgo ?? 0;
  // A router that re-registered under a mark that is gone lacks the new one since then.
  const lackingMs = behindMs ?? raisedMs;
  const lacks = (state: RouterState, waitedMs: number) => ({
    ...about,
    state,
    lackingMs,
    isOverdue: waitedMs > LONGEST_WAIT_MS,
  });
  if (redisId === null) return lacks('sees_no_redis', lackingMs);
  if (open && !server?.isOpen) return lacks('is_stranger', lackingMs);
  if (putBackMark === null || putBackMark !== server?.mark)
    return lacks('has_not_put_back', server?.isOpen ? lackingMs : raisedMs);
  if (!server.isOpen) return { ...about, state: 'waits', lackingMs, isOverdue: false };
  return { ...about, state: 'admits', lackingMs: 0, isOverdue: false };
}
