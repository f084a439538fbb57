import type { MarkedRedis, ReportedRouter } from '../database/statements.ts';

/** A Redis that routers have seen serve a shard. */
export interface RedisServer extends MarkedRedis {
  /** Whether calls are admitted there. */
  isOpen: boolean;
  /** Time since which the routers have been waited for. */
  raisedMsAgo: number;
}

/** All that routers have reported of a shard. */
export interface Recovery {
  /** Reporting routers, of this shard or another. Silent routers are not waited for. */
  routers: ReportedRouter[];
  servers: RedisServer[];
  /** Whether the ledger returns balances. A gate that opened before that would admit no call. */
  hasBalances: boolean;
}

/** A change of a gate. */
export type GateMove =
  /** A new Redis: it gets a mark, and routers re-register. */
  | { kind: 'taken' }
  /**
   * The Redis was emptied: it gets a new incarnation id, and routers re-register all calls. If it was open, no other
   * Redis opens before its routers know.
   */
  | { kind: 'emptied' }
  /** Another Redis is open, so this one stays closed and waits for no router. The routers' time starts later. */
  | { kind: 'kept_out' }
  /** Most routers have left the Redis that was open: it closes, so that this one may open. */
  | { kind: 'superseded'; loser: RedisServer }
  | { kind: 'opened'; fenced: string[] };

/** The gate on one Redis, with its next change. */
export interface Judgement {
  server: RedisServer | undefined;
  /** Whether other routers see and use another, open Redis, so that this one is not the region's. */
  isStranger: boolean;
  /** Reporting routers that have not re-registered. */
  waitsFor: string[];
  move: GateMove | undefined;
}

/** Time for the routers to re-register. Lost calls are admitted again within 5 s, and 2 s are for all other steps. */
export const LONGEST_WAIT_MS = 3_000;
/** Time for which a minority of routers keeps a Redis open while most see another. */
const HELD_BY_FEW_MS = 2_000;
/** Interval at which the wait for routers is restarted for a Redis that is kept out. */
const KEPT_OUT_EVERY_MS = 500;
/** Time for routers to learn that their Redis is closed, before another one opens: two reports. */
export const LEAVE_MS = 2_000;

/**
 * Decides on the admission state of the Redis that a report is about. The Redis opens once every live router has re-registered
 * its pending calls there, or has had its time to. A router that is fenced so admits nothing until it has re-registered, too.
 * Only one Redis of a shard is open at a time. Beside an open one that any router still sees, another stays closed unless most
 * routers see it. The Redis that more routers see comes first among two closed ones.
 */
export function judgeAdmissionState(
  { routers, servers, hasBalances }: Recovery,
  { redisId, missingMark }: { redisId: string; missingMark: string | null },
): Judgement {
  const server = servers.find((each) => each.redisId === redisId);
  const waitsFor = routers.filter((router) => router.putBackMark !== server?.mark).map(({ routerId }) => routerId);
  const asItIs = { server, isStranger: false, waitsFor, move: undefined };
  if (!server) return { ...asItIs, move: { kind: 'taken' } };
  if (missingMark === server.mark) return { ...asItIs, move: { kind: 'emptied' } };
  if (server.isOpen) return asItIs;

  const votes = (id: string): number => routers.filter((router) => router.redisId === id).length;
  const rivals = servers.filter((each) => each !== server && votes(each.redisId) > 0);
  const open = rivals.find(({ isOpen }) => isOpen);
  if (open) {
    const isSeenByMost = votes(redisId) > votes(open.redisId);
    if (isSeenByMost && server.raisedMsAgo >= HELD_BY_FEW_MS)
      return { ...asItIs, move: { kind: 'superseded', loser: open } };
    const move = !isSeenByMost && server.raisedMsAgo > KEPT_OUT_EVERY_MS ? ({ kind: 'kept_out' } as const) : undefined;
    return { ...asItIs, isStranger: true, move };
  }
  const isFirst = rivals.every((rival) => !isContender(rival, routers) || comesBefore(server, rival, votes));
  const hasAny = waitsFor.length < routers.length;
  const isDue = waitsFor.length === 0 || server.raisedMsAgo >= LONGEST_WAIT_MS;
  return isFirst && hasAny && isDue && hasBalances ? { ...asItIs, move: { kind: 'opened', fenced: waitsFor } } : asItIs;
}

/**
 * Returns whether a Redis may open: some router has re-registered there. The number of routers that see it does not
 * matter.
 */
const isContender = ({ mark }: RedisServer, routers: ReportedRouter[]): boolean =>
  routers.some(({ putBackMark }) => putBackMark === mark);

function comesBefore(one: RedisServer, other: RedisServer, votes: (redisId: string) => number): boolean {
  const lead = votes(one.redisId) - votes(other.redisId);
  return lead > 0 || (lead === 0 && one.raisedMsAgo > other.raisedMsAgo);
}
