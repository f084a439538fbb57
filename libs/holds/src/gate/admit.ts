import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { RateLimitState } from '@turnpike/public-api/headers';
import type { Hold } from '../call/pendingCalls.ts';
import type { Session } from '../redis/sessionState.ts';

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
  if (!Array.isArray(answer)) throw new Error('admit.lua answered in other words');
  for (const word of answer)
    if (typeof word !== 'string' && typeof word !== 'number') throw new Error('admit.lua answered in other words');
  const words: Answer = answer;
  const [outcome, nowMs, limiter, remainingRequests, resetRequestsMs, remainingTokens, resetTokensMs, ...rest] = words;
  const [retryAfterMs, keySpentNanoUsd = 0, keyHeldNanoUsd = 0, availableNanoUsd = 0] = rest;
  const { callId, key, holdNanoUsd, estimatedPromptTokens, unknownEventJson } = request;
  const { keyId, rpm, tpm } = key;
  const rateLimit: RateLimitState = {
    limitRequests: rpm,
    remainingRequests: Number(remainingRequests),
    resetRequestsMs: Number(resetRequestsMs),
    limitTokens: tpm,
    remainingTokens: Number(remainingTokens),
    resetTokensMs: Number(resetTokensMs),
  };
  switch (outcome) {
    case 'admitted':
      return {
        outcome,
        hold: {
          callId,
          workspaceId: key.workspace.workspaceId,
          keyId,
          holdNanoUsd,
          admittedAtMs: Number(nowMs),
          session,
          estimatedPromptTokens,
          rpm,
          tpm,
          unknownEventJson,
        },
        rateLimit,
      };
    case 'rate_limited':
      return {
        outcome,
        limiter: limiter === 'tokens' ? 'tokens' : 'requests',
        retryAfterMs: Number(retryAfterMs),
        rateLimit,
      };
    case 'insufficient':
      return {
        outcome,
        limiter: limiter as BalanceLimiter,
        keySpentNanoUsd: BigInt(keySpentNanoUsd),
        keyHeldNanoUsd: BigInt(keyHeldNanoUsd),
        availableNanoUsd: BigInt(availableNanoUsd),
        rateLimit,
      };
    case 'stale_key':
      return { outcome, generation: Number(words[3]) };
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

type Refusal = Extract<Admission, { outcome: 'rate_limited' }>;

/** Life of a refusal. A request that is given back meanwhile, or a newer record of the key, counts so much later at most. */
const AGAIN_MS = 100;
/** Beyond that all are forgotten: each key asks once more. */
const MOST_KEYS = 10_000;

/**
 * The refusals that Redis gave keys without requests or tokens left in the minute. Each is repeated for 100 ms, and
 * never past the instant at which the key may retry. A client that does not wait therefore costs Redis next to nothing.
 */
export class Refusals {
  readonly #known = new Map<string, { refusal: Refusal; generation: number; askedAt: number }>();

  /** Returns the refusal of a key with the time until its limits end now; undefined where Redis is to be asked. */
  repeat({ keyId, generation }: KeyRecord): Refusal | undefined {
    const known = this.#known.get(keyId);
    if (!known) return undefined;
    const ms = performance.now() - known.askedAt;
    const { refusal } = known;
    if (known.generation === generation && ms < Math.min(AGAIN_MS, refusal.retryAfterMs)) return after(ms, refusal);
    this.#known.delete(keyId);
    return undefined;
  }

  /** Keeps what Redis answered for a key when it was asked at `askedAt`. */
  add({ keyId, generation }: KeyRecord, refusal: Refusal, askedAt: number): void {
    if (this.#known.size >= MOST_KEYS) this.#known.clear();
    this.#known.set(keyId, { refusal, generation, askedAt });
  }
}

/** A refusal so much later: its end is nearer. A request or some tokens that came back meanwhile are left out. */
function after(ms: number, { rateLimit, retryAfterMs, ...refusal }: Refusal): Refusal {
  const later = (wholeMs: number): number => Math.max(Math.ceil(wholeMs - ms), 0);
  const { resetRequestsMs, resetTokensMs } = rateLimit;
  return {
    ...refusal,
    isToldAgain: true,
    retryAfterMs: later(retryAfterMs),
    rateLimit: { ...rateLimit, resetRequestsMs: later(resetRequestsMs), resetTokensMs: later(resetTokensMs) },
  };
}
