import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Redis } from 'ioredis';
import type { RouterNews } from './placement/routerNews.ts';
import { ECHO_MS, TELL_MS, TELL_MS_PER_ROUTER } from './terms/limits.ts';

/** A sharded channel of Redis, on the server that a key of this name would be on. */
export const NEWS_CHANNEL = 'router_news';

/** A Redis that a router speaks to; by copies of the connection it listens. */
type Speaking = Pick<Redis, 'spublish' | 'duplicate'> & { options: Pick<Redis['options'], 'host' | 'port'> };

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

  async function round(): Promise<void> {
    news.forgetSilent();
    const redis = shards.having(NEWS_CHANNEL)?.redis;
    if (!redis) throw new Error('no Redis has the channel');
    if (!line?.leadsTo(redis) || line.isDead) {
      line?.close();
      line = new Line(redis, { news, log });
    }
    const text = news.tell();
    if (text === undefined) return;
    await redis.spublish(NEWS_CHANNEL, text);
    line.hasTold();
  }

  const telling = repeat(round, {
    pauseMs: () => Math.max(TELL_MS, TELL_MS_PER_ROUTER * news.others),
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
  /** Since when something has been said here that was not heard here. */
  #toldAtMs: number | undefined;

  constructor(server: Speaking, { news, log }: { news: RouterNews; log: Logger }) {
    this.#server = nameOf(server);
    // The one subscription is made by hand, at every connection.
    const redis = server.duplicate({ autoResubscribe: false });
    this.#redis = redis;
    let isUnreadable = false;
    redis.on('error', () => {}); // it connects anew, and that nothing is heard is seen
    redis.on('ready', () => redis.ssubscribe(NEWS_CHANNEL).catch(() => {})); // as above
    redis.on('smessage', (_channel: string, text: string) => {
      try {
        if (news.hear(text).isOwn) this.#toldAtMs = undefined;
      } catch (error) {
        if (!isUnreadable) log.warn({ err: error }, 'what another router tells cannot be read');
        isUnreadable = true;
      }
    });
    redis.connect().catch(() => {}); // an error of the connection, and tried again
  }

  leadsTo(server: Speaking): boolean {
    return this.#server === nameOf(server);
  }

  /** What was said did not come back. */
  get isDead(): boolean {
    return this.#toldAtMs !== undefined && performance.now() - this.#toldAtMs > ECHO_MS;
  }

  hasTold(): void {
    this.#toldAtMs ??= performance.now();
  }

  close(): void {
    this.#redis.disconnect();
  }
}

const nameOf = ({ options: { host, port } }: Speaking): string => `${host}:${port}`;
