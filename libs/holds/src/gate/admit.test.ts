import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import { sinceOf } from '@turnpike/internal-api/budgetPeriod';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { v7 as uuidv7 } from 'uuid';
import { aFundedKey as fund } from '../../test/aFundedKey.ts';
import { anOpenSessionState } from '../../test/anOpenSessionState.ts';
import { TAG } from '../../test/aShard.ts';
import { aShardHolds } from '../../test/aShardHolds.ts';
import { headOf } from '../../test/headOf.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { readScript } from '../redis/askRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { type Session, SessionState } from '../redis/sessionState.ts';
import type { Admission, AdmitRequest } from './admit.ts';

let opened: OpenedRedis;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());

/** Asks Redis each time, as no earlier refusal is known, and releases nothing. */
const admit = (request: AdmitRequest): Promise<Admission> =>
  aShardHolds(opened, { release: async () => {} }).admit(request);

const aRequest = (key: KeyRecord, fields: Partial<AdmitRequest> = {}): AdmitRequest => ({
  callId: uuidv7(),
  key,
  holdNanoUsd: 100n,
  estimatedPromptTokens: 10,
  unknownEventJson: '{}',
  ...fields,
});

const aFundedKey = (leftNanoUsd: bigint, fields: Parameters<typeof aKeyRecord>[0] = {}): Promise<KeyRecord> =>
  fund(opened, leftNanoUsd, fields);

/** Everything Redis knows of a workspace but what time alone changes. */
async function snapshotOf({ keyId, workspace: { workspaceId } }: KeyRecord) {
  const { redis } = opened;
  return {
    wallet: await opened.walletOf(workspaceId),
    key: await redis.hgetall(redisKeys.key(workspaceId, keyId)),
    months: await redis.hgetall(redisKeys.months(workspaceId)),
    rates: await redis.hgetall(redisKeys.rates(workspaceId, keyId)),
    calls: await redis.hgetall(redisKeys.calls(workspaceId)),
  };
}

function outcomesOf(admissions: Admission[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const admission of admissions) {
    const name = 'limiter' in admission ? `${admission.outcome}:${admission.limiter}` : admission.outcome;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('concurrent calls never together pass a balance', () => {
  const limits: [string, (amount: bigint) => Promise<KeyRecord>][] = [
    ['key_budget', (amount) => aFundedKey(10n ** 12n, { maxBudgetNanoUsd: amount })],
    ['key_period_budget', (amount) => aFundedKey(10n ** 12n, { periodBudget: { period: 'week', maxNanoUsd: amount } })],
    ['credit', (amount) => aFundedKey(amount)],
    ['monthly_cap', (amount) => aFundedKey(10n ** 12n, { workspace: { monthlyCapNanoUsd: amount } })],
  ];
  it.each(limits)('of 200 at once on a %s for 10, exactly 10 are admitted', async (limiter, keyWith) => {
    for (const [amount, slack] of [
      [1_000n, 0n],
      [7_777_777n, 9n],
      [1n, 0n],
    ] as const) {
      const key = await keyWith(amount * 10n + (slack < amount ? slack : 0n));
      const admissions = await Promise.all(
        Array.from({ length: 200 }, () => admit(aRequest(key, { holdNanoUsd: amount }))),
      );
      expect(outcomesOf(admissions)).toEqual({ admitted: 10, [`insufficient:${limiter}`]: 190 });
      expect((await opened.walletOf(key.workspace.workspaceId)).held).toBe(amount * 10n);
    }
  });
});

describe('a balance', () => {
  it('carries a call that costs exactly what is left', async () => {
    const key = await aFundedKey(100n);
    expect(await admit(aRequest(key))).toMatchObject({ outcome: 'admitted' });
  });

  it('names the scarcest limit and what it still carries', async () => {
    const key = await aFundedKey(90n, { maxBudgetNanoUsd: 50n, workspace: { monthlyCapNanoUsd: 70n } });
    expect(await admit(aRequest(key))).toMatchObject({
      outcome: 'insufficient',
      limiter: 'key_budget',
      availableNanoUsd: 50n,
    });
  });

  it('of a period is beside the one in all, and the scarcer one is named', async () => {
    const periodBudget = { period: 'day', maxNanoUsd: 50n } as const;
    const scarce = await aFundedKey(10_000n, { maxBudgetNanoUsd: 70n, periodBudget });
    const refused = { outcome: 'insufficient', limiter: 'key_period_budget', availableNanoUsd: 50n };
    expect(await admit(aRequest(scarce))).toMatchObject(refused);
    const ample = await aFundedKey(10_000n, { maxBudgetNanoUsd: 40n, periodBudget });
    expect(await admit(aRequest(ample))).toMatchObject({ ...refused, limiter: 'key_budget', availableNanoUsd: 40n });
  });

  it('of a period counts what is recorded since its first day, and all that is pending', async () => {
    const key = await aFundedKey(10_000n, { periodBudget: { period: 'month', maxNanoUsd: 350n } });
    const { keyId, workspace } = key;
    await opened.loadKey(workspace.workspaceId, keyId, 9_000n);
    await opened.redis.hset(redisKeys.key(workspace.workspaceId, keyId), 'since_spent', 150);
    expect(await admit(aRequest(key))).toMatchObject({ outcome: 'admitted' });
    expect(await admit(aRequest(key))).toMatchObject({ outcome: 'admitted' });
    expect(await admit(aRequest(key))).toMatchObject({ outcome: 'insufficient', availableNanoUsd: 0n });
  });

  it('is told apart as reached when the month has already been spent to its cap', async () => {
    const key = await aFundedKey(10_000n, { workspace: { monthlyCapNanoUsd: 500n } });
    const months = redisKeys.months(key.workspace.workspaceId);
    for (const field of await opened.redis.hkeys(months))
      if (field.endsWith(':spent')) await opened.redis.hset(months, field, 500);
    expect(await admit(aRequest(key))).toMatchObject({ outcome: 'insufficient', limiter: 'monthly_cap_reached' });
  });

  it('lets a free call pass with no credit at all', async () => {
    const key = await aFundedKey(0n, { maxBudgetNanoUsd: 0n, workspace: { monthlyCapNanoUsd: 0n } });
    expect(await admit(aRequest(key, { holdNanoUsd: 0n }))).toMatchObject({ outcome: 'admitted' });
  });

  it('is exact up to 2^53 nano-dollars, and what a limit allows beyond is not used', async () => {
    const largest = 2n ** 53n - 1n;
    const exact = await aFundedKey(largest);
    expect(await admit(aRequest(exact, { holdNanoUsd: largest }))).toMatchObject({ outcome: 'admitted' });
    expect(await admit(aRequest(exact, { holdNanoUsd: 1n }))).toMatchObject({
      outcome: 'insufficient',
      availableNanoUsd: 0n,
    });
    const beyond = await aFundedKey(2n ** 53n + 1n);
    expect(await admit(aRequest(beyond, { holdNanoUsd: 2n ** 53n }))).toMatchObject({ outcome: 'insufficient' });
    expect(await admit(aRequest(beyond, { holdNanoUsd: largest }))).toMatchObject({ outcome: 'admitted' });
    const { workspaceId } = beyond.workspace;
    expect((await opened.monthsOf(workspaceId)).held).toBe(largest);
    expect((await opened.walletOf(workspaceId)).held).toBe(largest);
  });

  it.each<[string, bigint, bigint]>([
    ['9 million USD of which all but a little runs', 2n ** 53n - 1n, 2n ** 53n - 8n],
    ['a nano-dollar beside none', 1n, 0n],
    ['7 beside a billion', 1_000_000_007n, 1_000_000_000n],
  ])('of %s carries all that is left, and no nano-dollar more', async (_what, left, held) => {
    const key = await aFundedKey(left);
    if (held > 0n) expect(await admit(aRequest(key, { holdNanoUsd: held }))).toMatchObject({ outcome: 'admitted' });
    expect(await admit(aRequest(key, { holdNanoUsd: left - held + 1n }))).toMatchObject({
      outcome: 'insufficient',
      limiter: 'credit',
      availableNanoUsd: left - held,
    });
    expect(await admit(aRequest(key, { holdNanoUsd: left - held }))).toMatchObject({ outcome: 'admitted' });
    expect(await admit(aRequest(key, { holdNanoUsd: 1n }))).toMatchObject({ outcome: 'insufficient' });
  });

  it.each([-1n, -(2n ** 60n) - 1n])('that is %s, taken back or overspent, carries nothing', async (left) => {
    const key = await aFundedKey(left);
    expect(await admit(aRequest(key, { holdNanoUsd: 1n }))).toMatchObject({
      outcome: 'insufficient',
      limiter: 'credit',
    });
  });

  it.each<[string, (key: KeyRecord) => Promise<unknown>]>([
    ['credit', ({ workspace: { workspaceId } }) => opened.redis.hset(redisKeys.wallet(workspaceId), 'ended', 901)],
    [
      'key_budget',
      ({ keyId, workspace: { workspaceId } }) => opened.redis.hset(redisKeys.key(workspaceId, keyId), 'ended', 901),
    ],
    [
      'monthly_cap',
      async ({ workspace: { workspaceId } }) => {
        for (const field of await opened.redis.hkeys(redisKeys.months(workspaceId)))
          await opened.redis.hset(redisKeys.months(workspaceId), `${field.slice(0, 7)}:ended`, 901);
      },
    ],
  ])('is limited by calls that ended and are not recorded yet as by those that run: %s', async (limiter, charge) => {
    const key = await aFundedKey(1_000n, { maxBudgetNanoUsd: 1_000n, workspace: { monthlyCapNanoUsd: 1_000n } });
    await charge(key);
    expect(await admit(aRequest(key))).toMatchObject({ outcome: 'insufficient', limiter, availableNanoUsd: 99n });
    expect(await admit(aRequest(key, { holdNanoUsd: 99n }))).toMatchObject({ outcome: 'admitted' });
  });
});

it.each<[string, Parameters<typeof aKeyRecord>[0], Partial<AdmitRequest>]>([
  ['the balance does not carry', { maxBudgetNanoUsd: 99n }, {}],
  ['comes too often', { rpm: 1 }, {}],
  ['finds the token bucket empty', { tpm: 10 }, { estimatedPromptTokens: 20 }],
  ['brings a record older than the key', { generation: 0 }, {}],
])('a call that %s consumes nothing', async (_case, fields, request) => {
  // Requests refill so slowly that Redis does not forget them while the test looks.
  const key = await aFundedKey(10_000n, { rpm: 2, ...fields });
  const { workspaceId } = key.workspace;
  await opened.redis.hset(redisKeys.key(workspaceId, key.keyId), 'generation', 1);
  if (fields?.generation !== 0 && fields?.maxBudgetNanoUsd === undefined)
    expect(await admit(aRequest(key, request))).toMatchObject({ outcome: 'admitted' });
  const before = await snapshotOf(key);
  expect(await admit(aRequest(key, request))).not.toMatchObject({ outcome: 'admitted' });
  expect(await snapshotOf(key)).toEqual(before);
});

describe('requests per minute', () => {
  it('admits a burst of one minute’s worth, then refuses and says when to come back', async () => {
    const key = await aFundedKey(10_000n, { rpm: 7 });
    const admissions = await Promise.all(Array.from({ length: 20 }, () => admit(aRequest(key))));
    expect(outcomesOf(admissions)).toEqual({ admitted: 7, 'rate_limited:requests': 13 });
    const refused = await admit(aRequest(key));
    if (refused.outcome !== 'rate_limited') throw new Error('was admitted');
    expect(refused.retryAfterMs).toBeGreaterThan(0);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(60_000 / 7 + 1);
    expect(refused.rateLimit).toMatchObject({ limitRequests: 7, remainingRequests: 0 });
    expect(refused.rateLimit.resetRequestsMs).toBeGreaterThan(30_000);
  });

  it.each([
    [30_000, 'admitted'],
    [10_000, 'rate_limited'],
  ])('refills continuously: %i ms after the last of 2 a minute the next one is %s', async (elapsedMs, outcome) => {
    const key = await aFundedKey(10_000n, { rpm: 2 });
    const [seconds, micros] = await opened.redis.time();
    const arrivalUs = Number(seconds) * 1_000_000 + Number(micros) + 60_000_000 - elapsedMs * 1_000;
    await opened.redis.hset(redisKeys.rates(key.workspace.workspaceId, key.keyId), 'arrival', String(arrivalUs));
    expect(await admit(aRequest(key))).toMatchObject({ outcome });
  });

  it('counts down in the headers’ figures', async () => {
    const key = await aFundedKey(10_000n, { rpm: 3, tpm: 1_000 });
    const first = await admit(aRequest(key, { estimatedPromptTokens: 400 }));
    expect(first).toMatchObject({
      rateLimit: { limitRequests: 3, remainingRequests: 2, limitTokens: 1_000, remainingTokens: 600 },
    });
    const second = await admit(aRequest(key, { estimatedPromptTokens: 400 }));
    if (second.outcome !== 'admitted') throw new Error('was refused');
    expect(second.rateLimit.remainingRequests).toBe(1);
    // Some 17 tokens a second come back meanwhile.
    expect(second.rateLimit.remainingTokens).toBeGreaterThanOrEqual(200);
    expect(second.rateLimit.remainingTokens).toBeLessThan(600);
  });
});

describe('tokens per minute', () => {
  it('admits while the bucket is above zero, lets it go below, and refuses until it is refilled', async () => {
    const key = await aFundedKey(10_000n, { tpm: 100 });
    expect(await admit(aRequest(key, { estimatedPromptTokens: 99 }))).toMatchObject({ outcome: 'admitted' });
    expect(await admit(aRequest(key, { estimatedPromptTokens: 500 }))).toMatchObject({
      outcome: 'admitted',
      rateLimit: { remainingTokens: 0 },
    });
    const refused = await admit(aRequest(key));
    if (refused.outcome !== 'rate_limited') throw new Error('was admitted');
    expect(refused.limiter).toBe('tokens');
    // 499 tokens below zero at 100 a minute.
    expect(refused.retryAfterMs).toBeGreaterThan(270_000);
    expect(refused.retryAfterMs).toBeLessThan(301_000);
  });

  it('is not forgotten before the bucket is full again', async () => {
    const key = await aFundedKey(10_000n, { tpm: 100 });
    await admit(aRequest(key, { estimatedPromptTokens: 100_000 }));
    const bucket = redisKeys.rates(key.workspace.workspaceId, key.keyId);
    expect(await opened.redis.pttl(bucket)).toBeGreaterThan(59_000_000);
  });
});

describe('sums that Redis does not have', () => {
  const limited = { maxBudgetNanoUsd: 1_000n, workspace: { monthlyCapNanoUsd: 1_000n } };
  const forget: Record<string, (key: KeyRecord) => Promise<unknown>> = {
    wallet: ({ workspace: { workspaceId } }) => opened.redis.hdel(redisKeys.wallet(workspaceId), 'loaded'),
    key: ({ keyId, workspace: { workspaceId } }) => opened.redis.hdel(redisKeys.key(workspaceId, keyId), 'loaded'),
    months: ({ workspace: { workspaceId } }) => opened.redis.del(redisKeys.months(workspaceId)),
  };
  const age: Record<string, (key: KeyRecord) => Promise<unknown>> = {
    wallet: ({ workspace: { workspaceId } }) => opened.redis.hset(redisKeys.wallet(workspaceId), 'loaded', 'former'),
    key: ({ keyId, workspace: { workspaceId } }) =>
      opened.redis.hset(redisKeys.key(workspaceId, keyId), 'loaded', 'former'),
    months: async ({ workspace: { workspaceId } }) => {
      for (const field of await opened.redis.hkeys(redisKeys.months(workspaceId)))
        if (field.endsWith(':loaded')) await opened.redis.hset(redisKeys.months(workspaceId), field, 'former');
    },
  };

  it('are asked for', async () => {
    expect(await admit(aRequest(aKeyRecord()))).toEqual({ outcome: 'not_loaded' });
  });

  it.each(['wallet', 'key', 'months'])('are asked for where they limit the call: those of the %s', async (which) => {
    for (const lose of [forget[which], age[which]]) {
      const key = await aFundedKey(10_000n, limited);
      await lose?.(key);
      expect(await admit(aRequest(key))).toEqual({ outcome: 'not_loaded' });
      expect((await opened.walletOf(key.workspace.workspaceId)).held).toBe(0n);
    }
  });

  it('are asked for of a period: of one that is over, of another one, and of a key whose sums are lost', async () => {
    const periodBudget = { period: 'week', maxNanoUsd: 1_000n } as const;
    const changes: Record<string, string>[] = [
      { since: '2026-01-05' },
      { since_loaded: 'former' },
      { loaded: 'former' },
    ];
    for (const change of changes) {
      const key = await aFundedKey(10_000n, { periodBudget });
      await opened.redis.hset(redisKeys.key(key.workspace.workspaceId, key.keyId), change);
      expect(await admit(aRequest(key))).toEqual({ outcome: 'not_loaded' });
    }
  });

  it.each(['key', 'months'])('need not be there where they limit nothing: those of the %s', async (which) => {
    const key = await aFundedKey(10_000n);
    await forget[which]?.(key);
    expect(await admit(aRequest(key))).toMatchObject({ outcome: 'admitted' });
    expect(await opened.keyOf(key.workspace.workspaceId, key.keyId)).toMatchObject({ held: 100n });
    expect((await opened.monthsOf(key.workspace.workspaceId)).held).toBe(100n);
  });
});

describe('an owner', () => {
  function inSession(session: Session): SessionState {
    const sessionState = new SessionState();
    sessionState.begin(session, Number.POSITIVE_INFINITY);
    return sessionState;
  }

  it.each<[string, () => SessionState]>([
    ['without a session', () => new SessionState()],
    ['that waits for others to put back', () => inSession(opened.session)],
    [
      'whose session is of another mark',
      () => anOpenSessionState({ mark: `${opened.mark.slice(0, -1)}x`, token: 'token' }),
    ],
    [
      'whose session is of another server, as of one that was restarted since, the mark being there again',
      () => anOpenSessionState({ mark: otherServer(), token: 'token' }),
    ],
    [
      'whose session has lapsed while its clock stood still',
      () => anOpenSessionState({ mark: opened.mark, token: 'lapsed' }),
    ],
  ])('%s admits nothing', async (_which, sessionState) => {
    const key = await aFundedKey(10_000n);
    const before = await snapshotOf(key);
    await opened.redis.set(
      redisKeys.mark(TAG),
      sessionState().session?.mark.startsWith('f') ? otherServer() : opened.mark,
    );
    const { outcome } = await aShardHolds(
      { redis: opened.redis, sessionState: sessionState() },
      { owner: 'router-2' },
    ).admit(aRequest(key));
    await opened.redis.set(redisKeys.mark(TAG), opened.mark);
    expect(outcome).toBe('closed');
    expect(await snapshotOf(key)).toEqual(before);
  });
  const otherServer = (): string => `${'f'.repeat(40)}${opened.mark.slice(40)}`;

  it('stamps a call with its session', async () => {
    const key = await aFundedKey(10_000n);
    const request = aRequest(key);
    expect(await admit(request)).toMatchObject({ outcome: 'admitted', hold: { session: opened.session.token } });
    const { workspaceId } = key.workspace;
    expect(await opened.redis.hgetall(redisKeys.calls(workspaceId))).toEqual({
      [request.callId]: opened.session.token,
    });
    expect(await opened.callOf({ workspaceId, callId: request.callId })).toMatchObject({
      kind: 'held',
      amount: '100',
      session: opened.session.token,
      owner: 'router-1',
    });
  });
});

it.each([
  [6, 'admitted'],
  [5, 'admitted'],
  [4, 'stale_key'],
])('a record of generation %i meets a key at generation 5: %s', async (generation, outcome) => {
  const key = await aFundedKey(10_000n, { generation });
  await opened.redis.hset(redisKeys.key(key.workspace.workspaceId, key.keyId), 'generation', 5);
  expect(await admit(aRequest(key))).toMatchObject({ outcome });
});

it('admits no record of a key that was revoked, however new', async () => {
  const key = await aFundedKey(10_000n, { generation: 9 });
  await opened.redis.hset(redisKeys.key(key.workspace.workspaceId, key.keyId), { generation: 5, status: 'revoked' });
  expect(await admit(aRequest(key))).toEqual({ outcome: 'stale_key', generation: 5 });
});

describe('a call id', () => {
  it('is admitted once', async () => {
    const key = await aFundedKey(10_000n);
    const request = aRequest(key);
    await admit(request);
    await expect(admit(request)).rejects.toThrow('used before');
    expect((await opened.walletOf(key.workspace.workspaceId)).held).toBe(100n);
  });

  it('is refused when its release came first', async () => {
    const key = await aFundedKey(10_000n);
    const request = aRequest(key);
    const { workspaceId } = key.workspace;
    await aShardHolds(opened).release({ callId: request.callId, keyId: key.keyId, workspaceId });
    await expect(admit(request)).rejects.toThrow('used before');
    expect(await opened.walletOf(workspaceId)).toMatchObject({ held: 0n, ended: 0n });
  });
});

it.each(['day', 'week', 'month'] as const)(
  'begins a %s at the UTC midnight that the other services name',
  async (period) => {
    const functions = /local function dateOf[\s\S]*?\nend\n[\s\S]*?local function sinceOf[\s\S]*?\nend\n/.exec(
      readScript('admit'),
    )?.[0];
    const source = `${functions} local first = {} for i = 2, #ARGV do first[i - 1] = sinceOf(ARGV[1], tonumber(ARGV[i])) end return first`;
    const days = Array.from({ length: 366 * 130 }, (_, day) => day);
    for (let start = 0; start < days.length; start += 5_000) {
      const some = days.slice(start, start + 5_000);
      expect(await opened.redis.eval(source, 0, period, ...some)).toEqual(
        some.map((day) => sinceOf(period, day * 86_400_000)),
      );
    }
  },
);

describe('a call across the turn of a month', () => {
  const AT = { october: Date.UTC(2026, 9, 31, 23, 59, 59, 999), november: Date.UTC(2026, 10, 1) };

  it.each([
    ['a millisecond before midnight', AT.october, '2026-10'],
    ['at midnight', AT.november, '2026-11'],
  ])('belongs to the month it was admitted in by Redis’ clock, %s, whenever it ends', async (_case, atMs, month) => {
    const key = await aFundedKey(10_000n);
    const { keyId, workspace } = key;
    const { workspaceId } = workspace;
    const event = aUsageRecorded({ keyId, workspaceId, chargeNanoUsd: 300n });
    const { callId } = event;
    // The script with its clock set: Redis' own cannot be.
    const clock = `{ '${Math.floor(atMs / 1_000)}', '${(atMs % 1_000) * 1_000}' }`;
    const script = readScript('admit').replace("redis.call('TIME')", clock);
    expect(script).not.toBe(readScript('admit'));
    const head = headOf(workspaceId, opened.mark);
    const call = [callId, 1, 60, 600, 1, '1000', '', '', opened.session.token, '{}', keyId, 'router-1', ''];
    expect(await opened.redis.eval(script, head.keys.length, ...head.keys, ...head.args, ...call)).toEqual(
      expect.arrayContaining(['admitted', atMs]),
    );
    const months = redisKeys.months(workspaceId);
    expect(await opened.redis.hget(months, `${month}:held`)).toBe('1000');
    await aShardHolds(opened).settle(event, toUsageRecordedJson(event));
    expect(await opened.redis.hmget(months, `${month}:held`, `${month}:ended`)).toEqual(['0', '300']);
  });
});
