import type { MarkedRedis, ReportedRouter } from '../database/statements.ts';

/** A Redis that routers have seen serve a shard. */
export interface RedisServer extends MarkedRedis {
  /** Whether calls are admitted there. */
  isOpen: boolean;
  /** For how long the routers have been waited for. */
  raisedMsAgo: number;
}

/** All that reports have told of a shard by now. */
export interface Recovery {
  /** Those that are heard, of this shard or another; the silent are waited for no more. */
  routers: ReportedRouter[];
  servers: RedisServer[];
  /** Whether the ledger gives balances: a gate that opened before would let nobody in. */
  hasBalances: boolean;
}

/** How a gate changes. */
export type GateMove =
  /** A Redis nobody has seen before: it gets a mark, and routers put back. */
  | { kind: 'taken' }
  /**
   * The Redis was emptied: it gets a new incarnation id, and routers re-register all calls. If it was open, no other Redis opens
   * before they have heard of it.
   */
  | { kind: 'emptied' }
  /** Beside the one that is open this one stays closed, and no router is waited for: the time that they have begins later. */
  | { kind: 'kept_out' }
  /** Most routers have left the Redis that was open: it closes, so that this one may open. */
  | { kind: 'superseded'; loser: RedisServer }
  | { kind: 'opened'; fenced: string[] };

/** The gate on one Redis, as it stands and as it is to change. */
export interface Judgement {
  server: RedisServer | undefined;
  /** Calls are admitted in another Redis, which others see: this one is not the region's. */
  isStranger: boolean;
  /** Routers that are heard and have not put back. */
  waitsFor: string[];
  move: GateMove | undefined;
}

/** Time for the routers. Lost calls are admitted again within 5 s, and two seconds are for everything else. */
export const LONGEST_WAIT_MS = 3_000;
/** So long a few routers may hold on to the Redis that is open while most see another. */
const HELD_BY_FEW_MS = 2_000;
/** How often it is noted that nobody is waited for yet. */
const KEPT_OUT_EVERY_MS = 500;
/** So long those who count in a Redis have to hear that it is closed, before another one opens: two reports. */
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

/** No router counts in a Redis before a router has put back into it, however many see it. */
const isContender = ({ mark }: RedisServer, routers: ReportedRouter[]): boolean =>
  routers.some(({ putBackMark }) => putBackMark === mark);

function comesBefore(one: RedisServer, other: RedisServer, votes: (redisId: string) => number): boolean {
  const lead = votes(one.redisId) - votes(other.redisId);
  return lead > 0 || (lead === 0 && one.raisedMsAgo > other.raisedMsAgo);
}
