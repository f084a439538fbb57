import type { BudgetPeriod } from '@turnpike/internal-api/budgetPeriod';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { RateLimitState } from '@turnpike/public-api/headers';

/** Why the gate refuses a call, of text as of media: each service words it for its own clients. */
export type GateFault =
  | { kind: 'account_on_hold' }
  | { kind: 'billing_not_provisioned' }
  | { kind: 'spend_cap_reached' }
  | { kind: 'rate_limited'; limiter: 'requests' | 'tokens'; retryAfterMs: number; rateLimit: RateLimitState }
  /** Redis gave no decision. */
  | { kind: 'admission_unavailable' }
  /** The spool is full, or its disk takes nothing: no call is admitted that could not be recorded. */
  | { kind: 'spool_unavailable' };

/** The limit that a call's hold did not fit into. */
export type BalanceLimiter = 'key_budget' | 'key_period_budget' | 'credit' | 'monthly_cap' | 'monthly_cap_reached';

/** The largest cost of a call that does not fit into a balance. */
export interface Shortfall {
  maxUsageCostNanoUsd: NanoUsd;
  /** The rest of the limit after the holds of calls under way; never below 0. */
  remainingNanoUsd: NanoUsd;
  keyRemainingNanoUsd: NanoUsd | null;
  heldNanoUsd: NanoUsd;
  /** The limit that the hold did not fit into. */
  limitedBy: Exclude<BalanceLimiter, 'monthly_cap_reached'>;
  /** Period of the key's budget of a period, where that is the limit. */
  period?: BudgetPeriod;
}
