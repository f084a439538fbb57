import { expect, it } from '@jest/globals';
import { toRateLimitHeaders } from './headers.ts';

const state = {
  limitRequests: 600,
  remainingRequests: 599,
  resetRequestsMs: 100,
  limitTokens: 1_000_000,
  remainingTokens: 0,
  resetTokensMs: 60_001,
};

it('writes limits, what is left, and durations with a trailing s', () => {
  expect(toRateLimitHeaders(state)).toEqual({
    'x-ratelimit-limit-requests': '600',
    'x-ratelimit-limit-tokens': '1000000',
    'x-ratelimit-remaining-requests': '599',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-requests': '0.1s',
    'x-ratelimit-reset-tokens': '60.001s',
  });
});

it.each([
  [0, '0s'],
  [500, '0.5s'],
  [12_000, '12s'],
  [1, '0.001s'],
])('writes %i ms as %s', (resetRequestsMs, duration) => {
  expect(toRateLimitHeaders({ ...state, resetRequestsMs })['x-ratelimit-reset-requests']).toBe(duration);
});
