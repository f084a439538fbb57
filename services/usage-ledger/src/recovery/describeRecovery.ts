import type { Db } from '../database/createDb.ts';
import { LISTENING } from '../database/statements.ts';
import { LONGEST_WAIT_MS } from './judgeGate.ts';

/**
 * Where a router stands. `admits` calls; `waits` for others, its own calls being put back; `has_not_put_back` into the Redis that it
 * sees; `sees_no_redis` that answers as a primary; `is_stranger`: others count in another Redis; `is_silent`: dead, or cut off from
 * the ledger, and waited for no more.
 */
type RouterState = 'admits' | 'waits' | 'has_not_put_back' | 'sees_no_redis' | 'is_stranger' | 'is_silent';

export interface RouterStanding {
  routerId: string;
  redisId: string | null;
  state: RouterState;
  /** How long it has admitted nothing, or been silent; 0 where it admits. */
  lackingMs: number;
  /** Whether that is longer than anything is waited for, so that somebody has to look at it; never where it waits for others. */
  isOverdue: boolean;
}

/** The gate on a Redis that a router sees, or that is open. */
interface GateStanding {
  redisId: string;
  mark: string;
  isOpen: boolean;
  /** For how long it has been as it is. */
  forMs: number;
  /** Routers that are heard and see this Redis. */
  seenBy: number;
  /** Of the routers that are heard, those that have not put back: waited for, and fenced once it is open. */
  waitsFor: string[];
}

export interface RecoveryStanding {
  now: Date;
  gates: GateStanding[];
  routers: RouterStanding[];
  /** How long no router has admitted a call; 0 where one does, null where none is heard. */
  closedMs: number | null;
  /** Of the database; null before the event log was first read to its end. */
  timeline: number;
  caughtUpWith: number | null;
}

interface KnownRouter {
  routerId: string;
  redisId: string | null;
  putBackMark: string | null;
  isHeard: boolean;
  silentMs: number;
  behindMs: number | null;
}

interface KnownServer {
  redisId: string;
  mark: string;
  isOpen: boolean;
  raisedMsAgo: number;
  openedMsAgo: number | null;
}

/** What the reports have told, and since when, all of one instant. */
interface KnownRecovery extends Pick<RecoveryStanding, 'now' | 'timeline' | 'caughtUpWith'> {
  routers: KnownRouter[];
  servers: KnownServer[];
}

/** Reads how the region stands with its Redis and its Postgres. Changes nothing. */
export async function readRecoveryStanding(db: Db): Promise<RecoveryStanding> {
  const [known] = await db.$queryRaw<KnownRecovery[]>`
    SELECT clock_timestamp() AS "now", current_timeline() AS "timeline", recovery.timeline AS "caughtUpWith",
      coalesce((
        SELECT jsonb_agg(jsonb_build_object('routerId', router_id, 'redisId', redis_id, 'putBackMark', put_back_mark,
          'isHeard', clock_timestamp() - greatest(router.heard_at, listening_since)
            <= make_interval(secs => ${LISTENING.longestSilenceMs / 1_000}),
          'silentMs', extract(epoch FROM clock_timestamp() - router.heard_at) * 1000,
          'behindMs', extract(epoch FROM clock_timestamp() - behind_since) * 1000) ORDER BY router_id)
        FROM router
      ), '[]') AS "routers",
      coalesce((
        SELECT jsonb_agg(jsonb_build_object('redisId', redis_id, 'mark', mark, 'isOpen', opened_at IS NOT NULL,
          'raisedMsAgo', extract(epoch FROM clock_timestamp() - raised_at) * 1000,
          'openedMsAgo', extract(epoch FROM clock_timestamp() - opened_at) * 1000) ORDER BY redis_id)
        FROM redis_server
      ), '[]') AS "servers"
    FROM recovery`;
  if (!known) throw new Error('the row of recovery is gone');
  return describeRecovery(known);
}

/** Says of what is known who admits calls, and of everybody else what is missing and for how long. */
function describeRecovery({ routers, servers, ...rest }: KnownRecovery): RecoveryStanding {
  const heard = routers.filter(({ isHeard }) => isHeard);
  const votes = (redisId: string): number => heard.filter((router) => router.redisId === redisId).length;
  const open = servers.find(({ isOpen, redisId }) => isOpen && votes(redisId) > 0);
  const standings = routers.map((router) => describeRouter(router, { servers, open }));
  const lacking = standings.filter(({ state }) => state !== 'admits' && state !== 'is_silent');
  const isClosed = lacking.length === heard.length;
  return {
    ...rest,
    gates: servers
      .filter(({ redisId, isOpen }) => isOpen || votes(redisId) > 0)
      .map(({ redisId, mark, isOpen, raisedMsAgo, openedMsAgo }) => ({
        redisId,
        mark,
        isOpen,
        forMs: openedMsAgo ?? raisedMsAgo,
        seenBy: votes(redisId),
        waitsFor: heard.filter(({ putBackMark }) => putBackMark !== mark).map(({ routerId }) => routerId),
      })),
    routers: standings,
    closedMs: heard.length === 0 ? null : isClosed ? Math.max(...lacking.map(({ lackingMs }) => lackingMs)) : 0,
  };
}

function describeRouter(
  router: KnownRouter,
  { servers, open }: { servers: KnownServer[]; open: KnownServer | undefined },
): RouterStanding {
  const { routerId, redisId, putBackMark, behindMs } = router;
  const about = { routerId, redisId };
  if (!router.isHeard) return { ...about, state: 'is_silent', lackingMs: router.silentMs, isOverdue: false };
  const server = servers.find((each) => each.redisId === redisId);
  const raisedMs = server?.raisedMsAgo ?? 0;
  // One that has put back under a mark that is gone lacks since that went.
  const lackingMs = behindMs ?? raisedMs;
  const lacks = (state: RouterState, waitedMs: number): RouterStanding => ({
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
