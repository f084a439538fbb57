import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Redis } from 'ioredis';
import { DRAINS_ROUND_MS } from './terms/limits.ts';

const REDIS_KEY = 'draining_engines';
/** A member that is no engine's id. A list without it is one that Redis has lost, or that was never written. */
const WRITTEN = '-';

/** Engines that an operator holds back, by their ids; all routers of the region share them through Redis. */
export interface OperatorDrains {
  /** In force now. */
  readonly engineIds: ReadonlySet<string>;
  /** In force here at once, on the other routers within 2 s. Rejects, and changes nothing, when Redis does not answer. */
  set(engineId: string, isDraining: boolean): Promise<void>;
  close(): Promise<void>;
}

/** The store that routers share: the Redis that has a key, while one serves it. */
export interface SharedStore {
  having(
    key: string,
  ): { redis: Pick<Redis, 'sadd' | 'srem' | 'smembers'>; sessionState: { readonly isOpen: boolean } } | undefined;
}

/**
 * Follows the engines that operators cordoned. While Redis does not answer, the last known list stays in use. If Redis
 * has lost the list, each router writes its last known one, once calls are admitted there.
 */
export function followOperatorDrains({ shards, log }: { shards: SharedStore; log: Logger }): OperatorDrains {
  const draining = new Set<string>();

  function getShard() {
    const shard = shards.having(REDIS_KEY);
    if (!shard) throw new Error('no Redis has the list');
    return shard;
  }

  async function read(): Promise<void> {
    const { redis, sessionState } = getShard();
    const found = new Set(await redis.smembers(REDIS_KEY));
    const isWritten = found.delete(WRITTEN);
    const latest = isWritten ? found : found.union(draining);
    if (!isWritten && latest.size > 0 && sessionState.isOpen) await redis.sadd(REDIS_KEY, WRITTEN, ...latest);
    if (latest.symmetricDifference(draining).size === 0) return;
    draining.clear();
    for (const engineId of latest) draining.add(engineId);
    log.info({ engines: [...latest] }, 'engines cordoned by an operator');
  }

  const polling = repeat(read, {
    pauseMs: DRAINS_ROUND_MS,
    log,
    failing: 'which engines an operator holds back cannot be read: what was known last stays in force',
  });

  return {
    engineIds: draining,
    async set(engineId, isDraining) {
      const { redis } = getShard();
      if (isDraining) await redis.sadd(REDIS_KEY, WRITTEN, engineId);
      else await redis.srem(REDIS_KEY, engineId);
      // This router rewrites a list that Redis has lost.
      if (!isDraining) draining.delete(engineId);
      await polling.now();
    },
    close: polling.close,
  };
}
