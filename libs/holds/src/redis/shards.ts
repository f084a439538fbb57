import { setTimeout as delay } from 'node:timers/promises';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { connectRedis, moveConnection } from '@turnpike/redis-connection/connectRedis';
import type { Redis } from 'ioredis';
import { readTopology, type ServedSlots, SLOTS, type Topology } from './readTopology.ts';
import { SessionState } from './sessionState.ts';

/** How often owners look who serves what while all is well, and while a shard is closed. */
const OPEN_MS = 1_000;
const CLOSED_MS = 250;
/** Errors come by the hundred; so often they are a reason to look. */
const DOUBT_MS = 100;
/** How long an owner that starts waits for the first answer. */
const FIND_MS = 3_000;

/**
 * The Redis that serves a set of hash slots, whichever server that is by now. A Redis that is no cluster is the one shard of all slots.
 * Each shard is marked, followed, opened and swept by itself. Where the slots of a server change, it is another shard.
 */
export interface Shard {
  /** Its slots, as all owners name them. */
  readonly name: string;
  /** The hash tag of its own keys, in a slot of its own: the first. */
  readonly tag: string;
  /** The hash tags that own keys of a server of these slots have had if it had fewer of them before. */
  otherTags(): string[];
  readonly redis: Redis;
  readonly sessionState: SessionState;
}

/** Something that is done for a shard until it is no more. */
type Attend = (shard: Shard) => { close(): Promise<void> };

/** The shards that there are. */
export interface Shards {
  /** The one that a workspace is counted in; undefined while nobody serves it. */
  of(workspaceId: string): Shard | undefined;
  /** The one that a key is in. */
  having(key: string): Shard | undefined;
  readonly all: readonly Shard[];
}

interface OpenShard extends Shard {
  attendants: Map<Attend, { close(): Promise<void> }>;
}

/** The shards of a running owner. */
export interface OpenShards extends Shards {
  /** Does something for every shard that there is and that comes, until it has gone or this is closed. */
  attend(open: Attend): { close(): Promise<void> };
  /** Resolves once a server has said who serves what, or has had its time to. */
  found(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Finds the shards by any of the addresses, and follows who serves them. There are none before a server has answered; one that nobody
 * serves any more stays, closed, until its slots are others'.
 */
export function openShards({ urls, timeoutMs, log }: { urls: string[]; timeoutMs: number; log: Logger }): OpenShards {
  let shards: OpenShard[] = [];
  let bySlot: (OpenShard | undefined)[] = [];
  const attending = new Set<Attend>();
  const { promise: isFound, resolve: find } = Promise.withResolvers<void>();
  const leaving = new Set<Promise<unknown>>();
  let lookedAt = Number.NEGATIVE_INFINITY;
  const [url = ''] = urls;

  function onDoubt(): void {
    if (performance.now() - lookedAt >= DOUBT_MS) looking.now().catch(() => {}); // the repetition logs a failed look
  }

  /** Every server that is known is asked: one that is cut off from the others tells what was. */
  async function ask(): Promise<Topology> {
    const views = await Promise.allSettled(shards.map(({ redis }) => readTopology(redis)));
    const heard = views.flatMap((view) => (view.status === 'fulfilled' ? [view.value] : []));
    const [latest] = heard.toSorted((one, other) => other.epoch - one.epoch);
    return latest ?? askSeeds();
  }

  async function askSeeds(): Promise<Topology> {
    let failure: unknown;
    for (const seed of urls) {
      const redis = connectRedis(seed, { timeoutMs });
      try {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        redis
          .once('ready', resolve)
          .once('error', reject)
          .once('close', () => reject(new Error('the connection was closed')));
        await promise;
        return await readTopology(redis);
      } catch (error) {
        failure = error;
      } finally {
        redis.disconnect();
      }
    }
    throw failure;
  }

  function begin({ name, ranges, address }: ServedSlots): OpenShard {
    const [[first] = [0]] = ranges;
    const others = (): number[] =>
      ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, nth) => from + nth)).slice(1);
    const redis = connectRedis(url, { timeoutMs, log, onDoubt, address });
    const shard: OpenShard = {
      name,
      tag: tagOfSlot(first),
      otherTags: () => (address ? others().map(tagOfSlot) : []),
      redis,
      sessionState: new SessionState(),
      attendants: new Map(),
    };
    for (const open of attending) shard.attendants.set(open, open(shard));
    return shard;
  }

  function leave(shard: OpenShard): void {
    log.info({ shard: shard.name }, 'these slots are served together no more');
    shard.sessionState.end();
    const left = Promise.all([...shard.attendants.values()].map((attendant) => attendant.close()))
      .catch((error: unknown) => log.error({ err: error, shard: shard.name }, 'a shard is not left in order'))
      .finally(() => {
        shard.redis.disconnect();
        leaving.delete(left);
      });
    leaving.add(left);
  }

  async function look(): Promise<void> {
    lookedAt = performance.now();
    const { served } = await ask();
    if (urls.length > 1 && served.some(({ address }) => !address))
      throw new Error('REDIS_URL has several addresses, as only a Redis Cluster may have, and what answers is none');
    const before = new Map(shards.map((shard) => [shard.name, shard]));
    bySlot = new Array(SLOTS);
    shards = served.map((one) => {
      const known = before.get(one.name);
      before.delete(one.name);
      if (known && one.address) moveConnection(known.redis, one.address);
      const shard = known ?? begin(one);
      for (const [first, last] of one.ranges) bySlot.fill(shard, first, last + 1);
      return shard;
    });
    for (const gone of before.values()) leave(gone);
    find();
  }

  const looking = repeat(look, {
    pauseMs: () => (shards.length > 0 && shards.every(({ sessionState }) => sessionState.isOpen) ? OPEN_MS : CLOSED_MS),
    log,
    failing: 'no Redis says who serves what: what was known last is in force',
    level: 'error',
  });
  return {
    // All keys of a workspace have its id as their hash tag.
    of: (workspaceId) => bySlot[hashSlotOf(`{${workspaceId}}`)],
    having: (key) => bySlot[hashSlotOf(key)],
    get all() {
      return shards;
    },
    attend(open) {
      attending.add(open);
      for (const shard of shards) shard.attendants.set(open, open(shard));
      return {
        async close() {
          attending.delete(open);
          await Promise.all(shards.map(({ attendants }) => attendants.get(open)?.close()));
        },
      };
    },
    found: () => Promise.race([isFound, delay(FIND_MS, undefined, { ref: false })]),
    async close() {
      await looking.close();
      await Promise.all(leaving);
      for (const { redis } of shards) redis.disconnect();
    },
  };
}

/** A character that is more than one byte of UTF-8. */
const NO_ASCII = /[^\0-\x7f]/;

/**
 * Returns the slot of a key in a cluster, which is that of its hash tag. The tag is the text between the first brace and the next
 * closing one, or the whole key if that is empty. Its slot is a CRC-16 of the polynomial 0x1021 that begins at 0 (XMODEM).
 */
export function hashSlotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open);
  const tag = close > open + 1 ? key.slice(open + 1, close) : key;
  // The tag as UTF-8. ASCII is read as it is, because each call has its slot computed several times.
  const bytes = NO_ASCII.test(tag) ? Buffer.from(tag).toString('latin1') : tag;
  let crc = 0;
  for (let at = 0; at < bytes.length; at += 1)
    crc = ((crc << 8) ^ (CRC_OF_BYTE[(crc >> 8) ^ bytes.charCodeAt(at)] ?? 0)) & 0xffff;
  return crc % SLOTS;
}

const CRC_OF_BYTE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
  return crc;
});

const tags: string[] = [];
let tried = 0;

/** The smallest number that, as a hash tag, puts a key into a slot. */
export function tagOfSlot(slot: number): string {
  for (; ; tried += 1) {
    const known = tags[slot];
    if (known !== undefined) return known;
    tags[hashSlotOf(String(tried))] ??= String(tried);
  }
}
