import { expect, it } from '@jest/globals';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
import type { Admission, AdmitRequest } from '@turnpike/holds/gate/admit';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import { aChatRequest } from '../../../test/aChatRequest.ts';
import { aPricedModel } from '../../../test/aPricedModel.ts';
import { type AdmitCallDependencies, admitCall } from './admitCall.ts';

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
  availableNanoUsd: 0n,
  rateLimit,
};

/** A balance that might carry the call, if its prompt is shorter than its bytes. */
const tight: Admission = { ...insufficient, availableNanoUsd: 10_000n };

const notAsked = async (): Promise<never> => {
  throw new Error('nobody should have asked');
};

/** The steps of a run: every question of the gate, in order. */
interface Run {
  asked: string[];
  requests: AdmitRequest[];
  result: unknown;
}

interface Circumstances {
  key?: KeyRecord;
  /** The engine's own count; without it no engine counts. */
  count?: number;
  hasNewerCredits?: boolean;
  /** Whether engines have counted as much in vain for this key as they may. */
  isCountUsedUp?: boolean;
  /** Fields of the request's body. */
  fields?: object;
}

/** Runs the gate against these answers of the admit script, one after the other. */
async function run(answers: (Admission | Error)[], circumstances: Circumstances = {}): Promise<Run> {
  const { key = aKeyRecord(), count, hasNewerCredits = false } = circumstances;
  const { isCountUsedUp = false, fields = { max_tokens: 100 } } = circumstances;
  const asked: string[] = [];
  const requests: AdmitRequest[] = [];
  const dependencies: AdmitCallDependencies = {
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
      load: notAsked,
      async refresh() {
        asked.push('refresh');
        return hasNewerCredits;
      },
    },
    setBackGeneration: notAsked,
    authenticator: { forget: () => {} },
    async countPromptTokens() {
      asked.push('count');
      return count;
    },
    refusedCounts: {
      check() {
        if (isCountUsedUp)
          throw new ApiError({ kind: 'key_bound_reached', bound: 'prompt_counts', retryAfterSeconds: 9 });
      },
      take() {
        asked.push('take count');
        return () => void asked.push('give count back');
      },
    },
    shards: { of: () => ({ sessionState: { isOpen: true } }) },
    metrics: noMetrics,
    log: aSilentLogger(),
  };
  const call = {
    callId: 'call',
    key,
    authenticateAgain: notAsked,
    request: aChatRequest(fields),
    model: aPricedModel(),
    unknownEventJson: () => '{}',
  };
  const result = await admitCall(dependencies, call).catch((error: unknown) =>
    error instanceof ApiError ? error.fault : error,
  );
  return { asked, requests, result };
}

it('asks Redis once when it admits', async () => {
  const { asked, result } = await run([admitted]);
  expect(asked).toEqual(['admit']);
  expect(result).toMatchObject({ hold, rateLimit });
});

it('refuses nobody on a guess: the engine counts before the balance is called too small', async () => {
  const { asked, requests, result } = await run([tight, admitted], { count: 12 });
  expect(asked).toEqual(['admit', 'take count', 'count', 'admit', 'give count back']);
  expect(requests[1]?.holdNanoUsd).toBeLessThan(requests[0]?.holdNanoUsd ?? 0n);
  expect(result).toMatchObject({ bound: { promptTokens: 12 } });
});

it('does not trouble an engine for a count that could let nothing in', async () => {
  expect((await run([insufficient], { count: 12 })).asked).not.toContain('count');
});

it('asks for newer credits before it refuses, and admits once they are there', async () => {
  const { asked } = await run([tight, tight, admitted], { count: 12, hasNewerCredits: true });
  expect(asked).toEqual(['admit', 'take count', 'count', 'admit', 'refresh', 'admit', 'give count back']);
});

it('counts a prompt once, and keeps it as counted in vain when its call is refused after all', async () => {
  const { asked, result } = await run([tight, tight], { count: 12 });
  expect(asked).toEqual(['admit', 'take count', 'count', 'admit', 'refresh']);
  expect(result).toMatchObject({ kind: 'insufficient_balance' });
});

it('refuses no call as too dear that engines might have let in, once they have counted too much in vain', async () => {
  const { asked, result } = await run([tight], { count: 12, isCountUsedUp: true });
  expect(asked).toEqual(['admit']);
  expect(result).toMatchObject({ kind: 'key_bound_reached', bound: 'prompt_counts' });
});

// Without a length, such a prompt has to be counted for the engine's sake.
const LONG = { messages: [{ role: 'user', content: 'x'.repeat(2 * aPricedModel().contextLength) }] };
it.each<[string, Admission]>([
  ['above its rate', { outcome: 'rate_limited', limiter: 'requests', retryAfterMs: 700, rateLimit }],
  ['without credit', insufficient],
  ['that is let in: what its bytes may cost is held until it is', admitted],
])('asks no engine about a long prompt without a length of a call %s', async (_which, answer) => {
  expect((await run([answer], { fields: LONG, count: 12 })).asked).not.toContain('count');
});

it('says what the call could cost, what remains of the key, and what limits it', async () => {
  const { result, requests } = await run([insufficient], { key: aKeyRecord({ maxBudgetNanoUsd: 100n }) });
  expect(result).toEqual({
    kind: 'insufficient_balance',
    maxUsageCostNanoUsd: requests[0]?.holdNanoUsd,
    keyRemainingNanoUsd: 60n,
    remainingNanoUsd: 0n,
    heldNanoUsd: 7n,
    limitedBy: 'credit',
    affordableOutputTokens: 0,
  });
});
