import type { Redis } from 'ioredis';
import type { EpochStamp } from '../redis/redisEpoch.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { defineScript } from '../redis/redisScript.ts';

/** The mark of the epoch whose balances a Redis keeps: who empties Redis takes it along. */
export interface EpochMark {
  /**
   * Puts the mark, before any balance of the epoch is given out. `heardAtMs`: when, by Redis' clock, the ledger was asked that
   * said that this router has to drain. Rejects where that is too long ago for the ledger to be still waiting, and where this
   * is not the epoch's Redis.
   */
  put(stamp: EpochStamp, heardAtMs: number): Promise<void>;
  /** Whether it is still there; where it is not, so are the holds that were put back. */
  isThere(number: number): Promise<boolean>;
}

/** The ledger waits 15 s for a router it has heard of, and nothing is put back meanwhile. The rest is for clocks that are set. */
const VALID_MS = 2_000;

export function createEpochMark(redis: Redis): EpochMark {
  const markEpoch = defineScript(redis, new URL('./markEpoch.lua', import.meta.url));
  return {
    async put({ number, redisId }, heardAtMs) {
      const outcome = await markEpoch([redisKeys.epoch], [number, redisId, heardAtMs + VALID_MS]);
      if (outcome === 'too_late') throw new Error('the ledger has to be asked again whether Redis may be marked');
      if (outcome !== 'marked') throw new Error('this is not the Redis of the epoch');
    },
    async isThere(number) {
      return (await redis.get(redisKeys.epoch)) === String(number);
    },
  };
}
