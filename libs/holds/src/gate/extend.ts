import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import type { Hold } from '../call/pendingCalls.ts';
import type { Session } from '../redis/sessionState.ts';
import { OBSTACLES } from './admit.ts';
import { toPeriodArguments } from './findShortage.ts';
import type { BalanceLimiter } from './gateFault.ts';

/** The total to hold from now on, and the ending that a sweeper would then give the call. */
export interface ExtendRequest extends Pick<Hold, 'holdNanoUsd' | 'unknownEventJson'> {
  /** Current record of the key, possibly long after the admission. */
  key: KeyRecord;
}

export type Extension =
  | { outcome: 'extended' }
  /**
   * `availableNanoUsd` is the rest of the scarcest limit beside the hold. It is negative after a limit was lowered
   * below the committed amount.
   */
  | { outcome: 'insufficient'; limiter: BalanceLimiter; availableNanoUsd: NanoUsd }
  /**
   * `not_held`: the call has ended, or has to be put back first. `closed`: there is no session, or it was another one when the answer came.
   * `not_loaded`: the ledger did not give the sums. `stale_key`, `not_billable`: as of an admission.
   */
  | { outcome: 'not_held' | 'not_loaded' | 'closed' | 'stale_key' | 'not_billable' };

const answerSchema = z.tuple([
  z.enum(['extended', 'not_held', 'not_loaded', 'closed', 'stale_key', 'not_billable', 'insufficient']),
  z.enum(['', 'key_budget', 'key_period_budget', 'credit', 'monthly_cap', 'monthly_cap_reached']),
  z.coerce.bigint(),
]);

/** The arguments of `extend.lua` behind those that every script has. */
export function extendArguments(
  { callId, admittedAtMs }: Hold,
  { holdNanoUsd, unknownEventJson, key }: ExtendRequest,
  session: Session,
): (string | number)[] {
  const { monthlyCapNanoUsd, billingStatus } = key.workspace;
  return [
    callId,
    holdNanoUsd.toString(),
    key.generation,
    key.maxBudgetNanoUsd?.toString() ?? '',
    monthlyCapNanoUsd?.toString() ?? '',
    session.token,
    unknownEventJson,
    OBSTACLES[billingStatus],
    ...toPeriodArguments(key, admittedAtMs),
  ];
}

/** Reads the answer of `extend.lua`. */
export function readExtension(answer: unknown): Extension {
  const [outcome, limiter, availableNanoUsd] = answerSchema.parse(answer);
  if (outcome === 'insufficient') return { outcome, limiter: limiter as BalanceLimiter, availableNanoUsd };
  return { outcome };
}
