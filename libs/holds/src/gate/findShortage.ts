import { sinceOf } from '@turnpike/internal-api/budgetPeriod';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { monthOf } from '../call/pendingCalls.ts';
import { defineWorkspaceScript } from '../redis/askRedis.ts';
import type { SessionState } from '../redis/sessionState.ts';
import type { BalanceLimiter } from './gateFault.ts';

/** A limit that a hold would not fit into, with what an admission would say of it. */
export interface Shortage {
  limiter: BalanceLimiter;
  keySpentNanoUsd: NanoUsd;
  keyHeldNanoUsd: NanoUsd;
  availableNanoUsd: NanoUsd;
}

const answerSchema = z.tuple([
  z.enum(['', 'not_loaded', 'key_budget', 'key_period_budget', 'credit', 'monthly_cap', 'monthly_cap_reached']),
  z.coerce.bigint(),
  z.coerce.bigint(),
  z.coerce.bigint(),
]);

/** The first day of a key's period and its budget, for scripts without a clock. */
export const toPeriodArguments = ({ periodBudget }: KeyRecord, instantMs: number): string[] =>
  periodBudget ? [sinceOf(periodBudget.period, instantMs), periodBudget.maxNanoUsd.toString()] : [];

/**
 * Makes `findShortage(key, amount)`. It returns the limit that does not cover the amount now, or `not_loaded` if Redis
 * does not have the balances. Callers use it before expensive work that is not yet a call.
 * It returns undefined if the amount fits or the check fails, and the admission then decides.
 */
export function createFindShortage(redis: Redis, { sessionState }: { sessionState: Pick<SessionState, 'session'> }) {
  const findShortage = defineWorkspaceScript(redis, 'findShortage');
  return async (key: KeyRecord, amountNanoUsd: NanoUsd): Promise<Shortage | 'not_loaded' | undefined> => {
    const { session } = sessionState;
    if (!session) return undefined;
    const { workspaceId, monthlyCapNanoUsd } = key.workspace;
    const answer = await findShortage(workspaceId, session.mark, [
      amountNanoUsd.toString(),
      key.generation,
      key.maxBudgetNanoUsd?.toString() ?? '',
      monthlyCapNanoUsd?.toString() ?? '',
      // The month is that of this process' clock. The script reports no shortage for a month that Redis does not have
      // yet.
      monthOf(Date.now()),
      key.keyId,
      ...toPeriodArguments(key, Date.now()),
    ]);
    const [limiter, keySpentNanoUsd, keyHeldNanoUsd, availableNanoUsd] = answerSchema.parse(answer);
    if (limiter === 'not_loaded') return limiter;
    return limiter === '' ? undefined : { limiter, keySpentNanoUsd, keyHeldNanoUsd, availableNanoUsd };
  };
}
