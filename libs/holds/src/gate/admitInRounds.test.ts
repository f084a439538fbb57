import { expect, it } from '@jest/globals';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import type { Hold } from '../call/pendingCalls.ts';
import type { Admission, AdmitRequest } from './admit.ts';
import { admitInRounds, type WantedHold } from './admit.ts';

const rateLimit = {
  limitRequests: 600,
  remainingRequests: 599,
  resetRequestsMs: 0,
  limitTokens: 1_000,
  remainingTokens: 999,
  resetTokensMs: 0,
};
const hold: Hold = {
  callId: 'call-1',
  workspaceId: 'ws-1',
  keyId: 'key-1',
  holdNanoUsd: 1n,
  admittedAtMs: 5,
  session: 'token',
  estimatedPromptTokens: 1,
  rpm: 600,
  tpm: 1_000,
  unknownEventJson: '{}',
};
const admitted: Admission = { outcome: 'admitted', hold, rateLimit };
const insufficient: Admission = {
  outcome: 'insufficient',
  limiter: 'credit',
  keySpentNanoUsd: 40n,
  keyHeldNanoUsd: 7n,
  availableNanoUsd: 12n,
  rateLimit,
};

/** Record of a run, with every question of the gate in order. */
interface Run {
  asked: string[];
  requests: AdmitRequest[];
  /** How often a wait for the script was counted. */
  waits: number;
  result: unknown;
}

interface Circumstances {
  key?: KeyRecord;
  /** The key's record as auth has it now. */
  newKey?: KeyRecord;
  hasNewerCredits?: boolean;
  loadFails?: boolean;
  isOpen?: boolean;
  /** Result of admitting older records of the key again. */
  setBack?: 'set_back' | 'kept_out' | 'changed';
  /** A smaller hold that the call accepts too. */
  smaller?: WantedHold;
}

const wanted: WantedHold = { holdNanoUsd: 100n, estimatedPromptTokens: 0, unknownEventJson: '{}' };

/** Runs the gate against these answers of the admit script, one after the other. */
async function run(answers: (Admission | Error)[], circumstances: Circumstances = {}): Promise<Run> {
  const { key = aKeyRecord(), hasNewerCredits = false, loadFails = false, isOpen = true, smaller } = circumstances;
  const { setBack = 'set_back', newKey = key } = circumstances;
  const asked: string[] = [];
  const requests: AdmitRequest[] = [];
  let waits = 0;
  const dependencies: Parameters<typeof admitInRounds>[0] = {
    holds: {
      async admit(request) {
        requests.push(request);
        asked.push('admit');
        const answer = answers[requests.length - 1];
        if (!answer) throw new Error('asked more often than the test foresaw');
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    absorber: {
      async load(workspaceId, keyId) {
        asked.push('load');
        expect([workspaceId, keyId]).toEqual([key.workspace.workspaceId, key.keyId]);
        if (loadFails) throw new Error('ledger is down');
        return true;
      },
      async refresh() {
        asked.push('refresh');
        return hasNewerCredits;
      },
    },
    async setBackGeneration(_key, seen) {
      asked.push(`set back from ${seen}`);
      return setBack;
    },
    authenticator: { forget: () => void asked.push('forget') },
    shards: { of: () => ({ sessionState: { isOpen } }) },
    metrics: {
      ...noMetrics,
      admitted() {
        waits += 1;
      },
    },
    log: aSilentLogger(),
  };
  const call = {
    callId: 'call',
    key,
    async authenticateAgain(): Promise<KeyRecord> {
      asked.push('authenticate');
      return newKey;
    },
    wanted,
    ...(smaller && {
      async findSmallerHold(availableNanoUsd: bigint): Promise<WantedHold> {
        asked.push(`smaller than ${availableNanoUsd}`);
        return smaller;
      },
    }),
  };
  const result = await admitInRounds(dependencies, call).catch((error: unknown) =>
    error instanceof ApiError ? error.fault : error,
  );
  return { asked, requests, waits, result };
}

it('asks Redis once when it admits', async () => {
  const { asked, requests, result } = await run([admitted]);
  expect(asked).toEqual(['admit']);
  expect(requests).toEqual([{ callId: 'call', key: expect.anything(), ...wanted }]);
  expect(result).toEqual({ outcome: 'admitted', hold, rateLimit });
});

it('brings balances that Redis does not have, and asks again', async () => {
  const { asked, result } = await run([{ outcome: 'not_loaded' }, admitted]);
  expect(asked).toEqual(['admit', 'load', 'admit']);
  expect(result).toMatchObject({ hold });
});

it('admits nothing while balances cannot be had', async () => {
  const { asked, result } = await run([{ outcome: 'not_loaded' }], { loadFails: true });
  expect(asked).toEqual(['admit', 'load']);
  expect(result).toEqual({ kind: 'admission_unavailable' });
});

it('asks auth again about a key that has changed, and goes by the new record', async () => {
  const newKey = aKeyRecord({ generation: 2 });
  const { asked, requests } = await run([{ outcome: 'stale_key', generation: 2 }, admitted], { newKey });
  expect(asked).toEqual(['admit', 'forget', 'authenticate', 'admit']);
  expect(requests[1]?.key).toBe(newKey);
});

it('follows auth back where that knows an older key twice than it had told of, as its database was set back', async () => {
  const stale: Admission = { outcome: 'stale_key', generation: 9 };
  const asking = ['admit', 'forget', 'authenticate'];
  const { asked } = await run([stale, stale, admitted]);
  expect(asked).toEqual([...asking, ...asking, 'set back from 9', 'admit']);
  // Each answer may have been to a question from before the change that follows it.
  const changes = [9, 10, 11].map((generation): Admission => ({ outcome: 'stale_key', generation }));
  expect((await run([...changes, admitted])).asked).toEqual([...asking, ...asking, ...asking, 'admit']);
});

it.each([9, 0])(
  'keeps out a key that was revoked at generation %i, whatever auth says of it by now',
  async (generation) => {
    const stale: Admission = { outcome: 'stale_key', generation };
    const asking = ['admit', 'forget', 'authenticate'];
    expect(await run([stale, stale], { setBack: 'kept_out' })).toMatchObject({
      asked: [...asking, ...asking, `set back from ${generation}`],
      result: { kind: 'admission_unavailable' },
    });
  },
);

it.each([
  ['on_hold', 'account_on_hold'],
  ['not_provisioned', 'billing_not_provisioned'],
] as const)('refuses an account %s when the script says so, and asks nobody else', async (billingStatus, kind) => {
  const key = aKeyRecord({ workspace: { billingStatus } });
  expect(await run([{ outcome: 'not_billable' }], { key })).toMatchObject({ asked: ['admit'], result: { kind } });
  const stale: Admission[] = [{ outcome: 'stale_key', generation: 1 }, { outcome: 'not_billable' }];
  expect(await run(stale, { newKey: key })).toMatchObject({ result: { kind } });
});

it('admits nothing while calls are put back, nor where Redis is another one', async () => {
  const result = { kind: 'admission_unavailable' };
  expect(await run([], { isOpen: false })).toMatchObject({ asked: [], result });
  expect(await run([{ outcome: 'closed' }])).toMatchObject({ asked: ['admit'], result });
});

it.each([
  [null, null],
  [39n, 0n],
])('shows what remains of a budget of %s as %s', async (maxBudgetNanoUsd, keyRemainingNanoUsd) => {
  expect((await run([insufficient], { key: aKeyRecord({ maxBudgetNanoUsd }) })).result).toMatchObject({
    shortfall: { keyRemainingNanoUsd },
  });
});

it('tells a month that is spent from a call that is too dear', async () => {
  const reached: Admission = { ...insufficient, limiter: 'monthly_cap_reached' };
  expect((await run([reached])).result).toEqual({ kind: 'spend_cap_reached' });
});

it('passes on which limit a key has run into', async () => {
  const { asked, result } = await run([{ outcome: 'rate_limited', limiter: 'tokens', retryAfterMs: 700, rateLimit }]);
  expect(asked).toEqual(['admit']);
  expect(result).toEqual({ kind: 'rate_limited', limiter: 'tokens', retryAfterMs: 700, rateLimit });
});

it('counts a wait for Redis where it was asked, and none where a refusal is told again', async () => {
  const refused: Admission = { outcome: 'rate_limited', limiter: 'tokens', retryAfterMs: 700, rateLimit };
  expect((await run([refused])).waits).toBe(1);
  expect((await run([{ ...refused, isToldAgain: true }])).waits).toBe(0);
  expect((await run([admitted])).waits).toBe(1);
});

it('refuses where Redis gives no decision in time', async () => {
  const { asked, result } = await run([new Error('Command timed out')]);
  expect(asked).toEqual(['admit']);
  expect(result).toEqual({ kind: 'admission_unavailable' });
});

it('does not ask for ever', async () => {
  const { asked, result } = await run(Array.from({ length: 9 }, (): Admission => ({ outcome: 'not_loaded' })));
  expect(asked.filter((question) => question === 'admit')).toHaveLength(4);
  expect(result).toEqual({ kind: 'admission_unavailable' });
});

it('asks for newer credits before it says that there are too few, and once more where there are', async () => {
  const { asked, result } = await run([insufficient, admitted], { hasNewerCredits: true });
  expect(asked).toEqual(['admit', 'refresh', 'admit']);
  expect(result).toMatchObject({ outcome: 'admitted' });
});

it('says what the call could cost, what is left, and what limits it, where nothing newer is to be had', async () => {
  const { asked, result } = await run([insufficient], { key: aKeyRecord({ maxBudgetNanoUsd: 100n }) });
  expect(asked).toEqual(['admit', 'refresh']);
  expect(result).toEqual({
    outcome: 'insufficient',
    shortfall: {
      maxUsageCostNanoUsd: 100n,
      keyRemainingNanoUsd: 60n,
      remainingNanoUsd: 12n,
      heldNanoUsd: 7n,
      limitedBy: 'credit',
    },
    availableNanoUsd: 12n,
  });
});

it('asks for a smaller hold first, where the call could do with one', async () => {
  const smaller = { ...wanted, holdNanoUsd: 12n };
  const { asked, requests } = await run([insufficient, admitted], { smaller });
  expect(asked).toEqual(['admit', 'smaller than 12', 'admit']);
  expect(requests[1]?.holdNanoUsd).toBe(12n);
});
