import { beginOf } from '@turnpike/internal-api/budgetPeriod';
import { toUsdNumber, toUsdText } from '@turnpike/money/nanoUsd';
import { toWholeSeconds } from '@turnpike/public-api/headers';
import type { GateFault, Shortfall } from './gateFault.ts';

const BALANCES: Record<Shortfall['limitedBy'], { name: string; remedy: string }> = {
  key_budget: { name: 'the budget of this key', remedy: 'Raise the budget' },
  key_period_budget: { name: 'the budget of this key', remedy: 'Raise the budget' },
  credit: { name: 'the credit of the workspace', remedy: 'Top up' },
  monthly_cap: { name: 'the monthly cap of the workspace', remedy: 'Raise the cap' },
};

/** The sentences of the 402s without amounts. */
export const ACCOUNT_MESSAGES: Record<'account_on_hold' | 'billing_not_provisioned' | 'spend_cap_reached', string> = {
  account_on_hold: 'The account is on hold, so nothing was run or charged. Ask your administrator to release it.',
  billing_not_provisioned:
    'The account is not set up for billing, so nothing was run or charged. Ask your administrator to set it up.',
  spend_cap_reached:
    'The monthly cap of the workspace is spent, so nothing was run or charged. Ask your administrator to raise it, or wait for the next month (UTC).',
};

/** Returns the sentence of a 402 with the cost and the balance in USD. `askForLess` ends it: what a smaller request would be. */
export function toShortfallMessage(
  { maxUsageCostNanoUsd, remainingNanoUsd, limitedBy, period }: Shortfall,
  askForLess: string | undefined,
  nowMs = Date.now(),
): string {
  const { name, remedy } = BALANCES[limitedBy];
  const wait = period && `wait until ${beginOf(period, nowMs, 1).toISOString().slice(0, -8)}Z, when it begins anew`;
  const ways = [remedy, askForLess, wait].filter((each) => each !== undefined);
  const last = ways.length > 1 ? `, or ${ways.pop()}` : '';
  const advice = `${ways.join(', ')}${last}`;
  const [cost, remaining] = [toUsdText(maxUsageCostNanoUsd), toUsdText(remainingNanoUsd)];
  return `This request could cost up to ${cost} USD and ${name}${period ? ` for the ${period}` : ''} has ${remaining} USD left, so nothing was run or charged. ${advice}.`;
}

/** The amounts of a 402, as its body shows them. */
export const toShortfallFields = (shortfall: Shortfall) => ({
  max_usage_cost_usd: toUsdNumber(shortfall.maxUsageCostNanoUsd),
  remaining_usd: toUsdNumber(shortfall.remainingNanoUsd),
  key_remaining_usd: shortfall.keyRemainingNanoUsd === null ? null : toUsdNumber(shortfall.keyRemainingNanoUsd),
  held_usd: toUsdNumber(shortfall.heldNanoUsd),
  limited_by: shortfall.limitedBy === 'key_period_budget' ? ('key_budget' as const) : shortfall.limitedBy,
});

/** Returns the sentence of a 429 with the limit and the seconds that `Retry-After` says. */
export function toRateLimitMessage({
  limiter,
  retryAfterMs,
  rateLimit,
}: Extract<GateFault, { kind: 'rate_limited' }>): string {
  const limit = limiter === 'requests' ? rateLimit.limitRequests : rateLimit.limitTokens;
  return `Rate limit reached: ${limit} ${limiter} per minute for this key. Retry in ${toWholeSeconds(retryAfterMs / 1_000)} s.`;
}
