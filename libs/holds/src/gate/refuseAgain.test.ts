import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { v7 as uuidv7 } from 'uuid';
import type { Admission, AdmitRequest } from './admit.ts';
import { refuseAgain } from './refuseAgain.ts';

const REFUSED: Admission = {
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
let asked: string[];
let answer: Admission;
const admit = refuseAgain(async ({ key }) => {
  asked.push(key.keyId);
  return answer;
});
const ask = (key: KeyRecord): Promise<Admission> => {
  const request: AdmitRequest = {
    callId: uuidv7(),
    key,
    holdNanoUsd: 100n,
    estimatedPromptTokens: 10,
    unknownEventJson: '{}',
  };
  return admit(request);
};

beforeEach(() => {
  nowMs = 1_000;
  asked = [];
  answer = REFUSED;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => void jest.restoreAllMocks());

it('tells a key that is over its limits so again for 100 ms without asking, with its ends as much nearer', async () => {
  const key = aKeyRecord();
  expect(await ask(key)).toEqual(REFUSED);
  nowMs += 99;
  const rateLimit = { ...REFUSED.rateLimit, resetRequestsMs: 59_901, resetTokensMs: 0 };
  expect(await ask(key)).toEqual({ ...REFUSED, retryAfterMs: 1_901, rateLimit, isToldAgain: true });
  expect(asked).toHaveLength(1);
  nowMs += 1;
  expect(await ask(key)).toEqual(REFUSED);
  expect(asked).toHaveLength(2);
});

it('asks at the instant that the key was told to come back at', async () => {
  const key = aKeyRecord();
  answer = { ...REFUSED, retryAfterMs: 30 };
  await ask(key);
  nowMs += 29;
  await ask(key);
  expect(asked).toHaveLength(1);
  nowMs += 1;
  await ask(key);
  expect(asked).toHaveLength(2);
});

it('asks for a key whose record has changed, and for every other', async () => {
  const key = aKeyRecord();
  await ask(key);
  await ask({ ...key, generation: key.generation + 1 });
  await ask(aKeyRecord());
  expect(asked).toHaveLength(3);
});

it.each<Admission>([{ outcome: 'closed' }, { outcome: 'not_billable' }, { outcome: 'not_loaded' }])(
  'asks again after each other answer: %j',
  async (other) => {
    const key = aKeyRecord();
    answer = other;
    for (let turn = 0; turn < 2; turn += 1) expect(await ask(key)).toEqual(other);
    expect(asked).toHaveLength(2);
  },
);
