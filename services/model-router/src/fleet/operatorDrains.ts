import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Redis } from 'ioredis';
import { DRAINS_ROUND_MS } from './terms/limits.ts';

const REDIS_KEY = 'draining_engines';

/** Engines that an operator holds back, by their ids; all routers of the region share them through Redis. */
export interface OperatorDrains {
  has(engineId: string): boolean;
  /** In force here at once, on the other routers within 2 s. Rejects, and changes nothing, when Redis does not answer. */
  set(engineId: string, isDraining: boolean): Promise<void>;
  close(): Promise<void>;
}

/** Where routers share what they know: the Redis that has a key, while one serves it. */
export interface SharedStore {
  having(key: string): { redis: Pick<Redis, 'sadd' | 'srem' | 'smembers'> } | undefined;
}

/** Follows what operators asked for. While Redis does not answer, what was known last stays in force. */
export function followOperatorDrains({ shards, log }: { shards: SharedStore; log: Logger }): OperatorDrains {
  let draining: ReadonlySet<string> = new Set();

  function getRedis() {
    const shard = shards.having(REDIS_KEY);
    if (!shard) throw new Error('no Redis has the list');
    return shard.redis;
  }

  async function read(): Promise<void> {
    const latest = new Set(await getRedis().smembers(REDIS_KEY));
    if (latest.symmetricDifference(draining).size === 0) return;
    draining = latest;
    log.info({ engines: [...latest] }, 'engines cordoned by an operator');
  }

  const polling = repeat(read, {
    pauseMs: DRAINS_ROUND_MS,
    log,
    failing: 'which engines an operator holds back cannot be read: what was known last stays in force',
  });

  return {
    has: (engineId) => draining.has(engineId),
    async set(engineId, isDraining) {
      if (isDraining) await getRedis().sadd(REDIS_KEY, engineId);
      else await getRedis().srem(REDIS_KEY, engineId);
      await polling.now();
    },
    close: polling.close,
  };
}
