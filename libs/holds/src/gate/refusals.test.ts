import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import { type Admission, Refusals } from './admit.ts';

const REFUSED: Extract<Admission, { outcome: 'rate_limited' }> = {
  outcome: 'rate_limited',
  limiter: 'requests',
  retryAfterMs: 2_000,
  rateLimit: {
    limitRequests: 30,
    remainingRequests: 0,
    resetRequestsMs: 60_000,
    limitTokens: 1_000,
    remainingTokens: 990,
    resetTokensMs: 20,
  },
};

let nowMs: number;
let refusals: Refusals;
beforeEach(() => {
  nowMs = 1_000;
  refusals = new Refusals();
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => void jest.restoreAllMocks());

it('repeats the refusal of a key for 100 ms, with its ends as much nearer', () => {
  const key = aKeyRecord();
  expect(refusals.repeat(key)).toBeUndefined();
  refusals.add(key, REFUSED, nowMs);
  nowMs += 99;
  const rateLimit = { ...REFUSED.rateLimit, resetRequestsMs: 59_901, resetTokensMs: 0 };
  expect(refusals.repeat(key)).toEqual({ ...REFUSED, retryAfterMs: 1_901, rateLimit, isToldAgain: true });
  nowMs += 1;
  expect(refusals.repeat(key)).toBeUndefined();
});

it('repeats none from the instant on that the key was told to come back at', () => {
  const key = aKeyRecord();
  refusals.add(key, { ...REFUSED, retryAfterMs: 30 }, nowMs);
  nowMs += 29;
  expect(refusals.repeat(key)).toMatchObject({ retryAfterMs: 1 });
  nowMs += 1;
  expect(refusals.repeat(key)).toBeUndefined();
});

it('repeats none for a key whose record has changed, nor for another', () => {
  const key = aKeyRecord();
  refusals.add(key, REFUSED, nowMs);
  expect(refusals.repeat(aKeyRecord())).toBeUndefined();
  expect(refusals.repeat({ ...key, generation: key.generation + 1 })).toBeUndefined();
});

it('forgets all rather than keep more than 10,000', () => {
  const key = aKeyRecord();
  refusals.add(key, REFUSED, nowMs);
  for (let nth = 1; nth < 10_000; nth += 1) refusals.add({ ...key, keyId: `key-${nth}` }, REFUSED, nowMs);
  expect(refusals.repeat(key)).toBeDefined();
  refusals.add({ ...key, keyId: 'one too many' }, REFUSED, nowMs);
  expect(refusals.repeat(key)).toBeUndefined();
});
