import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Absorber } from '../balances/absorb.ts';
import { type Hold, monthOf, type PendingCalls } from '../call/pendingCalls.ts';
import { headOf } from '../redis/redisKeys.ts';
import { defineScript } from '../redis/redisScript.ts';
import type { Standing } from '../redis/standing.ts';
import { type BalanceLimiter, OBSTACLES } from './admit.ts';

/** What is to be held in all from now on, and the ending that a sweeper would give the call by then. */
export interface ExtendRequest extends Pick<Hold, 'holdNanoUsd' | 'unknownEventJson'> {
  /** As it is now, which may be long after the admission. */
  key: KeyRecord;
}

export type Extension =
  | { outcome: 'extended' }
  /** What the scarcest limit still carries beside the hold; negative where it was lowered below what is committed. */
  | { outcome: 'insufficient'; limiter: BalanceLimiter; availableNanoUsd: NanoUsd }
  /**
   * `not_held`: the call has ended, or has to be put back first. `closed`: there is no session, or it was another one when the answer came.
   * `not_loaded`: the ledger did not give the sums. `stale_key`, `not_billable`: as of an admission.
   */
  | { outcome: 'not_held' | 'not_loaded' | 'closed' | 'stale_key' | 'not_billable' };

const answerSchema = z.tuple([
  z.enum(['extended', 'not_held', 'not_loaded', 'closed', 'stale_key', 'not_billable', 'insufficient']),
  z.enum(['', 'key_budget', 'credit', 'monthly_cap', 'monthly_cap_reached']),
  z.coerce.bigint(),
]);

export interface ExtendOptions {
  absorber: Pick<Absorber, 'load'>;
  pending: Pick<PendingCalls, 'isHeld'>;
  standing: Pick<Standing, 'session' | 'isOpen' | 'suspect' | 'reportMissingCall'>;
}

/**
 * Makes `extend(hold, request)`: raises the hold of a running call where the gate carries the difference; asked again, it changes nothing.
 * Only what still holds when the answer comes is believed: in another session the hold was listed as it was, and is put back so. Rejects
 * when Redis does not decide in time; then Redis may hold more than is known here, until the call ends or is put back.
 */
export function createExtend(redis: Redis, { absorber, pending, standing }: ExtendOptions) {
  const extend = defineScript(redis, 'extend');

  return async (hold: Hold, request: ExtendRequest): Promise<Extension> => {
    const { session } = standing;
    if (!session || !standing.isOpen) return { outcome: 'closed' };
    const { workspaceId, keyId, callId } = hold;
    const { holdNanoUsd, unknownEventJson, key } = request;
    const { monthlyCapNanoUsd, billingStatus } = key.workspace;
    const { keys, args } = headOf(workspaceId, session.mark);
    const ask = async () => {
      const answer = await extend(keys, [
        ...args,
        callId,
        holdNanoUsd.toString(),
        key.generation,
        key.maxBudgetNanoUsd?.toString() ?? '',
        monthlyCapNanoUsd?.toString() ?? '',
        session.token,
        unknownEventJson,
        OBSTACLES[billingStatus],
      ]);
      return answerSchema.parse(answer);
    };
    let [outcome, limiter, availableNanoUsd] = await ask();
    if (outcome === 'not_loaded') {
      // Of the month that the call counts in, which may be over.
      await absorber.load(workspaceId, keyId, monthOf(hold.admittedAtMs));
      [outcome, limiter, availableNanoUsd] = await ask();
    }
    if (standing.session?.token !== session.token) return { outcome: 'closed' };
    if (outcome === 'closed') standing.suspect();
    if (outcome === 'not_held' && pending.isHeld(callId)) standing.reportMissingCall();
    if (outcome === 'insufficient') return { outcome, limiter: limiter as BalanceLimiter, availableNanoUsd };
    if (outcome === 'extended' && holdNanoUsd > hold.holdNanoUsd) {
      hold.holdNanoUsd = holdNanoUsd;
      hold.unknownEventJson = unknownEventJson;
    }
    return { outcome };
  };
}
