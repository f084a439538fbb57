import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Redis } from 'ioredis';
import { ECHO_MS } from './limits.ts';
import type { RouterNews } from './routerNews.ts';

/**
 * A sharded channel of Redis, on the server that a key of this name would be on; behind it comes the number of the database. It is
 * given another name when prompts are cut or hashed in another way: routers of both versions run side by side.
 */
export const NEWS_CHANNEL = '{router_news}';

/** A Redis that a router speaks to; by copies of the connection it listens. */
type Speaking = Pick<Redis, 'spublish' | 'duplicate'> & { options: Pick<Redis['options'], 'host' | 'port' | 'db'> };

export interface FollowRoutersOptions {
  /** Says which Redis has the channel, while one serves it. */
  shards: { having(key: string): { redis: Speaking } | undefined };
  news: RouterNews;
  log: Logger;
}

/**
 * Tells the region's other routers of this one's calls, and hears of theirs, by a channel of Redis. While that does not work, each
 * router places calls by what it knows itself.
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

  /** Whether this is what this router has told itself. */
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

/** A connection that hears what routers say. */
class Line {
  readonly #server: string;
  readonly #redis: Redis;
  /** When this router last heard itself here, or began to listen. */
  #echoedAtMs = performance.now();

  /** `hear` says whether what was heard is this router's own. */
  constructor(server: Speaking, hear: (text: string) => boolean) {
    this.#server = nameOf(server);
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
    return this.#server === nameOf(server);
  }

  /** A router publishes something every half second, and none of it comes back. */
  get isDead(): boolean {
    return performance.now() - this.#echoedAtMs > ECHO_MS;
  }

  close(): void {
    this.#redis.disconnect();
  }
}

const nameOf = ({ options: { host, port } }: Speaking): string => `${host}:${port}`;
const channelOf = ({ options: { db = 0 } }: Speaking): string => `${NEWS_CHANNEL}:${db}`;
