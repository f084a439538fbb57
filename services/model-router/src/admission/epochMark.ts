import type { Redis } from 'ioredis';
import type { EpochStamp } from './redisEpoch.ts';
import { redisKeys } from './redisKeys.ts';
import { defineScript } from './redisScript.ts';

/** The mark of the epoch whose balances a Redis keeps: who empties Redis takes it along. */
export interface EpochMark {
  /** Puts the mark, before any balance of the epoch is given out. Rejects where this is not the epoch's Redis. */
  put(stamp: EpochStamp): Promise<void>;
  /** Whether it is still there; where it is not, so are the holds that were put back. */
  isThere(number: number): Promise<boolean>;
}

export function createEpochMark(redis: Redis): EpochMark {
  const markEpoch = defineScript(redis, 'markEpoch');
  return {
    async put({ number, redisId }) {
      const outcome = await markEpoch([redisKeys.epoch], [number, redisId]);
      if (outcome !== 'marked') throw new Error('this is not the Redis of the epoch');
    },
    async isThere(number) {
      return (await redis.get(redisKeys.epoch)) === String(number);
    },
  };
}
