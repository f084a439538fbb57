import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { RateLimitState } from '@turnpike/public-api/headers';
import type { Hold } from '../call/pendingCalls.ts';
import type { Session } from '../redis/standing.ts';

export interface AdmitRequest
  extends Pick<Hold, 'callId' | 'holdNanoUsd' | 'estimatedPromptTokens' | 'unknownEventJson'> {
  key: KeyRecord;
}

/** The limit that a call's hold did not fit into. */
export type BalanceLimiter = 'key_budget' | 'key_period_budget' | 'credit' | 'monthly_cap' | 'monthly_cap_reached';

export type Admission =
  | { outcome: 'admitted'; hold: Hold; rateLimit: RateLimitState }
  | {
      outcome: 'rate_limited';
      limiter: 'requests' | 'tokens';
      retryAfterMs: number;
      rateLimit: RateLimitState;
      /** Redis said so of an earlier call, and was not asked about this one. */
      isToldAgain?: true;
    }
  | {
      outcome: 'insufficient';
      limiter: BalanceLimiter;
      keySpentNanoUsd: NanoUsd;
      keyHeldNanoUsd: NanoUsd;
      /**
       * The amount that the scarcest limit still carries; negative where a limit was lowered below what is committed.
       */
      availableNanoUsd: NanoUsd;
      rateLimit: RateLimitState;
    }
  /**
   * `not_loaded`: Redis lacks sums that this call is limited by, they have to come from the ledger first. `closed`: this is not
   * the Redis of this owner's session. `stale_key`: the key or its workspace changed since its record was read, auth has to
   * be asked again. `not_billable`: the workspace's billing status lets nothing in.
   */
  | { outcome: 'not_loaded' | 'closed' | 'not_billable' }
  | {
      outcome: 'stale_key';
      /** From which on its records are admitted. */
      generation: number;
    };

/** An outcome, and what is known with it (`admit.lua`). */
type Answer = (string | number)[];
const isAnswer = (answer: unknown): answer is Answer =>
  Array.isArray(answer) && answer.every((word) => typeof word === 'string' || typeof word === 'number');

/** Why the script may have to refuse a workspace whatever its balances are. */
export const OBSTACLES: Record<KeyRecord['workspace']['billingStatus'], string> = {
  active: '',
  on_hold: 'account_on_hold',
  not_provisioned: 'billing_not_provisioned',
};

/** The arguments of `admit.lua` behind those that every script has. */
export function admitArguments(
  { callId, key, holdNanoUsd, estimatedPromptTokens, unknownEventJson }: AdmitRequest,
  { session, owner }: { session: Session; owner: string },
): (string | number)[] {
  const { keyId, rpm, tpm, generation, maxBudgetNanoUsd, periodBudget } = key;
  const { monthlyCapNanoUsd, billingStatus } = key.workspace;
  return [
    callId,
    generation,
    rpm,
    tpm,
    estimatedPromptTokens,
    holdNanoUsd.toString(),
    maxBudgetNanoUsd?.toString() ?? '',
    monthlyCapNanoUsd?.toString() ?? '',
    session.token,
    unknownEventJson,
    keyId,
    owner,
    OBSTACLES[billingStatus],
    // More arguments would slow the admission of all other keys.
    ...(periodBudget ? [periodBudget.period, periodBudget.maxNanoUsd.toString()] : []),
  ];
}

/** Reads the answer of `admit.lua`, by hand: a schema would take this process as long as the script takes Redis. */
export function readAdmission(answer: unknown, request: AdmitRequest, session: string): Admission {
  if (!isAnswer(answer)) throw new Error('admit.lua answered in other words');
  const { callId, key, holdNanoUsd, estimatedPromptTokens, unknownEventJson } = request;
  const { keyId, rpm, tpm } = key;
  const [outcome, , limiter] = answer;
  const number = (at: number): number => Number(answer[at]);
  const amount = (at: number): NanoUsd => BigInt(answer[at] ?? 0);
  const readRateLimit = (): RateLimitState => ({
    limitRequests: rpm,
    remainingRequests: number(3),
    resetRequestsMs: number(4),
    limitTokens: tpm,
    remainingTokens: number(5),
    resetTokensMs: number(6),
  });
  switch (outcome) {
    case 'admitted':
      return {
        outcome,
        hold: {
          callId,
          workspaceId: key.workspace.workspaceId,
          keyId,
          holdNanoUsd,
          admittedAtMs: number(1),
          session,
          estimatedPromptTokens,
          rpm,
          tpm,
          unknownEventJson,
        },
        rateLimit: readRateLimit(),
      };
    case 'rate_limited':
      return {
        outcome,
        limiter: limiter === 'tokens' ? 'tokens' : 'requests',
        retryAfterMs: number(7),
        rateLimit: readRateLimit(),
      };
    case 'insufficient':
      return {
        outcome,
        limiter: limiter as BalanceLimiter,
        keySpentNanoUsd: amount(8),
        keyHeldNanoUsd: amount(9),
        availableNanoUsd: amount(10),
        rateLimit: readRateLimit(),
      };
    case 'stale_key':
      return { outcome, generation: number(3) };
    case 'not_loaded':
    case 'closed':
    case 'not_billable':
      return { outcome };
    case 'repeated':
      throw new Error('call id was used before');
    default:
      throw new Error(`admit.lua answered ${outcome}`);
  }
}
