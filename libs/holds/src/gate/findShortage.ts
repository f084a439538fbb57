import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { monthOf } from '../call/pendingCalls.ts';
import { headOf } from '../redis/redisKeys.ts';
import { defineScript } from '../redis/redisScript.ts';
import type { Standing } from '../redis/standing.ts';
import type { BalanceLimiter } from './admit.ts';

/** A limit that a hold would not fit into, with what an admission would say of it. */
export interface Shortage {
  limiter: BalanceLimiter;
  keySpentNanoUsd: NanoUsd;
  keyHeldNanoUsd: NanoUsd;
  availableNanoUsd: NanoUsd;
}

const answerSchema = z.tuple([
  z.enum(['', 'not_loaded', 'key_budget', 'credit', 'monthly_cap', 'monthly_cap_reached']),
  z.coerce.bigint(),
  z.coerce.bigint(),
  z.coerce.bigint(),
]);

/**
 * Makes `findShortage(key, amount)`: the limit that would not carry so much now, for those who want to know before they do something that
 * is dear and not yet a call; `not_loaded` where Redis does not have the balances. Undefined also where nothing can be said: the admission has
 * the last word.
 */
export function createFindShortage(redis: Redis, { standing }: { standing: Pick<Standing, 'session'> }) {
  const findShortage = defineScript(redis, 'findShortage');
  return async (key: KeyRecord, amountNanoUsd: NanoUsd): Promise<Shortage | 'not_loaded' | undefined> => {
    const { session } = standing;
    if (!session) return undefined;
    const { workspaceId, monthlyCapNanoUsd } = key.workspace;
    const { keys, args } = headOf(workspaceId, session.mark);
    const answer = await findShortage(keys, [
      ...args,
      amountNanoUsd.toString(),
      key.generation,
      key.maxBudgetNanoUsd?.toString() ?? '',
      monthlyCapNanoUsd?.toString() ?? '',
      // By this clock: of a month that Redis does not have yet, nothing is said.
      monthOf(Date.now()),
      key.keyId,
    ]);
    const [limiter, keySpentNanoUsd, keyHeldNanoUsd, availableNanoUsd] = answerSchema.parse(answer);
    if (limiter === 'not_loaded') return limiter;
    return limiter === '' ? undefined : { limiter, keySpentNanoUsd, keyHeldNanoUsd, availableNanoUsd };
  };
}
