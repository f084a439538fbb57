import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Engine } from '../engines/engine.ts';
import type { EngineLoad, Work } from '../engines/engineLoad.ts';
import {
  ECHO_MS,
  LONGEST_TELL_MS,
  MAX_TOLD_BLOCKS,
  ROUTER_SILENT_MS,
  TELL_AGAIN_MS,
  TELL_MS,
  TELL_MS_PER_ROUTER,
} from './limits.ts';

/** A router's gossip for the other routers of its region. */
const newsSchema = z.object({
  /** The sender. */
  router: z.string(),
  /**
   * Its work by engine, in tokens of prompts and of answers. Each message has all of it, so messages may be lost or out
   * of order.
   */
  work: z.record(z.string(), z.tuple([z.number(), z.number()])),
  /** Prompts sent since the last message: the engine, and the block hashes as base64 of 32 bits each, little-endian. */
  placed: z.array(z.tuple([z.string(), z.string()])),
});

/** An engine named in gossip. Several may have one id, at other addresses. */
export type NewsEngine = Pick<Engine, 'name' | 'load'>;

interface OtherRouter {
  heardAtMs: number;
  /** Its work, by the load to which it was added. */
  work: Map<EngineLoad, Work>;
}

const NOTHING: Work = { queuedTokens: 0, answerTokens: 0 };

/**
 * A router's gossip: the work that each has on every engine, and which engine was sent which prompt. Any of it may be lost. Work
 * is published whole each time, and an unknown prompt costs a worse choice.
 */
export class RouterNews {
  readonly #router: string;
  readonly #engines: () => Iterable<NewsEngine>;
  readonly #nowMs: () => number;
  readonly #others = new Map<string, OtherRouter>();
  #placed: { load: EngineLoad; hashes: readonly number[] }[] = [];
  #placedBlocks = 0;
  #toldWork = '';
  #toldAtMs = Number.NEGATIVE_INFINITY;

  /** `router` is a unique name. */
  constructor(
    router: string,
    { engines, nowMs = () => performance.now() }: { engines: () => Iterable<NewsEngine>; nowMs?: () => number },
  ) {
    this.#router = router;
    this.#engines = engines;
    this.#nowMs = nowMs;
  }

  /** Number of other routers with a recent message. */
  get others(): number {
    return this.#others.size;
  }

  /** Pause before the next message, in ms. Without other routers a message is only for a new one. */
  get pauseMs(): number {
    if (this.others === 0) return TELL_AGAIN_MS;
    return Math.min(Math.max(TELL_MS, TELL_MS_PER_ROUTER * this.others), LONGEST_TELL_MS);
  }

  /** Notes a prompt that this router sent to the engine of a load. */
  placed(load: EngineLoad, hashes: readonly number[]): void {
    if (hashes.length === 0 || this.#placedBlocks + hashes.length > MAX_TOLD_BLOCKS) return;
    this.#placed.push({ load, hashes });
    this.#placedBlocks += hashes.length;
  }

  /** Returns the news to publish now; undefined if nothing is new and all was published not long ago. */
  tell(): string | undefined {
    const names = new Map<EngineLoad, string>();
    const work: [string, [number, number]][] = [];
    for (const engine of this.#engines()) {
      names.set(engine.load, engine.name);
      const { queuedTokens, answerTokens } = engine.load.work;
      // Rounding may leave a sum slightly above 0.
      if (queuedTokens + answerTokens < 1) continue;
      work.push([engine.name, [Math.round(queuedTokens), Math.round(answerTokens)]]);
    }
    const workNow = JSON.stringify(Object.fromEntries(work));
    const isKnown = workNow === this.#toldWork && this.#placed.length === 0;
    if (isKnown && this.#nowMs() - this.#toldAtMs < TELL_AGAIN_MS) return undefined;
    const placed: [string, string][] = [];
    for (const { load, hashes } of this.#placed) {
      const name = names.get(load);
      if (name !== undefined) placed.push([name, toBase64(hashes)]);
    }
    this.#placed = [];
    this.#placedBlocks = 0;
    this.#toldWork = workNow;
    this.#toldAtMs = this.#nowMs();
    return `{"router":${JSON.stringify(this.#router)},"work":${workNow},"placed":${JSON.stringify(placed)}}`;
  }

  /** Notes that the latest news was not published, so that work is published again at once. */
  notTold(): void {
    this.#toldAtMs = Number.NEGATIVE_INFINITY;
  }

  /**
   * Takes over a router's message. Returns whether the message is this router's own, which changes nothing. Throws if
   * the message is malformed.
   */
  hear(text: string): { isOwn: boolean } {
    const { router, work, placed } = newsSchema.parse(JSON.parse(text));
    if (router === this.#router) return { isOwn: true };
    const loads = new Map(Array.from(this.#engines(), ({ name, load }) => [name, load]));
    const other = this.#others.get(router) ?? { heardAtMs: 0, work: new Map() };
    this.#others.set(router, other);
    other.heardAtMs = this.#nowMs();
    const now = new Map<EngineLoad, Work>();
    for (const [name, [queuedTokens, answerTokens]] of Object.entries(work)) {
      const load = loads.get(name);
      if (load) now.set(load, { queuedTokens, answerTokens });
    }
    count(now, other.work);
    other.work = now;
    for (const [name, base64] of placed) loads.get(name)?.hearPlaced(fromBase64(base64));
    return { isOwn: false };
  }

  /** Removes the work of silent routers. */
  forgetSilent(): void {
    const sinceMs = this.#nowMs() - ROUTER_SILENT_MS;
    for (const [router, { heardAtMs, work }] of this.#others) {
      if (heardAtMs > sinceMs) continue;
      count(new Map(), work);
      this.#others.delete(router);
    }
  }
}

/** Replaces a router's earlier work in the loads. */
function count(now: ReadonlyMap<EngineLoad, Work>, before: ReadonlyMap<EngineLoad, Work>): void {
  for (const [load, work] of now) load.hearWork(work, before.get(load) ?? NOTHING);
  for (const [load, work] of before) if (!now.has(load)) load.hearWork(NOTHING, work);
}

const HASH_BYTES = 4;

function toBase64(hashes: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(hashes.length * HASH_BYTES);
  for (const [at, hash] of hashes.entries()) bytes.writeUInt32LE(hash, at * HASH_BYTES);
  return bytes.toString('base64');
}

function fromBase64(base64: string): number[] {
  const bytes = Buffer.from(base64, 'base64');
  const hashes: number[] = [];
  for (let at = 0; at + HASH_BYTES <= bytes.length; at += HASH_BYTES) hashes.push(bytes.readUInt32LE(at));
  return hashes;
}

/**
 * A sharded channel of Redis, on the server of the key with this name. The number of the database is appended. The name
 * changes with the cutting or hashing of prompts, because routers of both versions run at the same time.
 */
export const NEWS_CHANNEL = '{router_news}';

/** A Redis to which a router publishes. It subscribes through copies of the connection. */
type Speaking = Pick<Redis, 'spublish' | 'duplicate'> & { options: Pick<Redis['options'], 'host' | 'port' | 'db'> };

export interface FollowRoutersOptions {
  /** Returns the Redis that has the channel, while one serves it. */
  shards: { having(key: string): { redis: Speaking } | undefined };
  news: RouterNews;
  log: Logger;
}

/**
 * Publishes this router's calls to the other routers of the region, and subscribes to theirs, through a channel of
 * Redis. While that fails, each router places calls by its own data.
 */
export function followRouters({ shards, news, log }: FollowRoutersOptions): { close(): Promise<void> } {
  let line: Line | undefined;
  let isDeaf = false;
  let isUnreadable = false;

  function listenOn(redis: Speaking): void {
    if (line?.leadsTo(redis) && !line.isDead) return;
    if (line?.isDead && !isDeaf) {
      isDeaf = true;
      log.warn({}, 'other routers are not heard: connecting anew until they are');
    }
    line?.close();
    line = new Line(redis, hear);
  }

  /** Takes a message. Returns whether it is this router's own. */
  function hear(text: string): boolean {
    try {
      if (!news.hear(text).isOwn) return false;
      if (isDeaf) log.info({}, 'over: other routers are not heard');
      isDeaf = false;
      return true;
    } catch (error) {
      if (!isUnreadable) log.warn({ err: error }, 'what another router tells cannot be read');
      isUnreadable = true;
      return false;
    }
  }

  async function round(): Promise<void> {
    news.forgetSilent();
    const redis = shards.having(NEWS_CHANNEL)?.redis;
    if (!redis) throw new Error('no Redis has the channel');
    listenOn(redis);
    const text = news.tell();
    if (text === undefined) return;
    try {
      await redis.spublish(channelOf(redis), text);
    } catch (error) {
      news.notTold();
      throw error;
    }
  }

  const telling = repeat(round, {
    pauseMs: () => news.pauseMs,
    log,
    failing: 'other routers cannot be told of calls: each places its own by what it knows itself',
  });
  return {
    async close() {
      await telling.close();
      line?.close();
    },
  };
}

/** A subscription to the routers' messages. */
class Line {
  readonly #server: string;
  readonly #redis: Redis;
  /** Time of this router's last own message here, or of the subscription. */
  #echoedAtMs = performance.now();

  /** `hear` returns whether a message is this router's own. */
  constructor(server: Speaking, hear: (text: string) => boolean) {
    this.#server = addressOf(server);
    // The one subscription is made by hand, at every connection.
    const redis = server.duplicate({ autoResubscribe: false });
    this.#redis = redis;
    redis.on('error', () => {}); // the client connects anew, and the silence is seen
    redis.on('ready', () => redis.ssubscribe(channelOf(server)).catch(() => {})); // the same holds for a failed subscription
    redis.on('smessage', (_channel: string, text: string) => {
      if (hear(text)) this.#echoedAtMs = performance.now();
    });
    redis.connect().catch(() => {}); // an error of the connection, and tried again
  }

  leadsTo(server: Speaking): boolean {
    return this.#server === addressOf(server);
  }

  /** Whether the subscription is lost. A router publishes every half second, and nothing of that arrived. */
  get isDead(): boolean {
    return performance.now() - this.#echoedAtMs > ECHO_MS;
  }

  close(): void {
    this.#redis.disconnect();
  }
}

const addressOf = ({ options: { host, port } }: Speaking): string => `${host}:${port}`;
const channelOf = ({ options: { db = 0 } }: Speaking): string => `${NEWS_CHANNEL}:${db}`;
