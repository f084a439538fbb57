import { expect, it } from '@jest/globals';
import type { Shortfall } from './gateFault.ts';
import { toRateLimitMessage, toShortfallFields, toShortfallMessage } from './gateWords.ts';

const SHORTFALL: Shortfall = {
  maxUsageCostNanoUsd: 835_000n,
  remainingNanoUsd: 100_000n,
  keyRemainingNanoUsd: null,
  heldNanoUsd: 5n,
  limitedBy: 'credit',
};

it.each([
  ['credit', 'the credit of the workspace', 'Top up'],
  ['key_budget', 'the budget of this key', 'Raise the budget'],
  ['monthly_cap', 'the monthly cap of the workspace', 'Raise the cap'],
] as const)('says the cost and what is left of %s', (limitedBy, balance, remedy) => {
  const start = `This request could cost up to 0.000835 USD and ${balance} has 0.0001 USD left, so nothing was run or charged.`;
  expect(toShortfallMessage({ ...SHORTFALL, limitedBy }, undefined)).toBe(`${start} ${remedy}.`);
  expect(toShortfallMessage({ ...SHORTFALL, limitedBy }, 'ask for less')).toBe(`${start} ${remedy}, or ask for less.`);
  expect(toShortfallFields({ ...SHORTFALL, limitedBy })).toEqual({
    max_usage_cost_usd: 0.000835,
    remaining_usd: 0.0001,
    key_remaining_usd: null,
    held_usd: 5e-9,
    limited_by: limitedBy,
  });
});

it('says of a period’s budget when it begins anew', () => {
  const shortfall = { ...SHORTFALL, limitedBy: 'key_period_budget', period: 'week' } as const;
  const nowMs = Date.parse('2026-11-27T20:00:00Z');
  const start =
    'This request could cost up to 0.000835 USD and the budget of this key for the week has 0.0001 USD left, so nothing was run or charged.';
  const wait = 'wait until 2026-11-30T00:00Z, when it begins anew.';
  expect(toShortfallMessage(shortfall, undefined, nowMs)).toBe(`${start} Raise the budget, or ${wait}`);
  expect(toShortfallMessage(shortfall, 'ask for less', nowMs)).toBe(
    `${start} Raise the budget, ask for less, or ${wait}`,
  );
  expect(toShortfallFields(shortfall).limited_by).toBe('key_budget');
});

it.each([
  ['requests', 19_001, 'Rate limit reached: 60 requests per minute for this key. Retry in 20 s.'],
  ['tokens', 1, 'Rate limit reached: 1000 tokens per minute for this key. Retry in 1 s.'],
] as const)('says the limit of %s and the seconds of Retry-After', (limiter, retryAfterMs, message) => {
  const rateLimit = {
    limitRequests: 60,
    remainingRequests: 0,
    resetRequestsMs: 1,
    limitTokens: 1_000,
    remainingTokens: 0,
    resetTokensMs: 1,
  };
  expect(toRateLimitMessage({ kind: 'rate_limited', limiter, retryAfterMs, rateLimit })).toBe(message);
});
