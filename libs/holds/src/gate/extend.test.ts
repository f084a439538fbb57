import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { Redis } from 'ioredis';
import { v7 as uuidv7 } from 'uuid';
import { aFundedKey } from '../../test/aFundedKey.ts';
import { anOpenSessionState } from '../../test/anOpenSessionState.ts';
import { TAG } from '../../test/aShard.ts';
import { aShardHolds } from '../../test/aShardHolds.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { type Hold, monthOf, PendingCalls } from '../call/pendingCalls.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import type { SessionState } from '../redis/sessionState.ts';
import type { ShardHolds } from '../shardHolds.ts';
import type { ExtendRequest } from './extend.ts';

let opened: OpenedRedis;
let sessionState: SessionState;
let pending: PendingCalls;
/** Requests to the ledger. */
let loaded: unknown[];
let onLoad: () => Promise<unknown>;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(() => {
  sessionState = anOpenSessionState(opened.session);
  pending = new PendingCalls();
  loaded = [];
  onLoad = async () => {};
});

const someHolds = (redis: Redis = opened.redis): ShardHolds =>
  aShardHolds(
    { redis, sessionState },
    {
      pending,
      absorber: {
        async load(...asked) {
          loaded.push(asked);
          await onLoad();
          return true;
        },
      },
    },
  );

/** A call that holds 100 of what its workspace has, of 1,000 unless told. */
async function aHeldCall(
  fields: Parameters<typeof aFundedKey>[2] = {},
  left = 1_000n,
  { estimatedPromptTokens = 0 }: { estimatedPromptTokens?: number } = {},
) {
  const key = await aFundedKey(opened, left, fields);
  const request = { callId: uuidv7(), key, holdNanoUsd: 100n, estimatedPromptTokens, unknownEventJson: 'of 100' };
  const admission = await someHolds().admit(request);
  if (admission.outcome !== 'admitted') throw new Error(`call was ${admission.outcome}`);
  pending.add(admission.hold);
  return { key, hold: admission.hold };
}

const to = (key: KeyRecord, holdNanoUsd: bigint): ExtendRequest => ({
  key,
  holdNanoUsd,
  unknownEventJson: `of ${holdNanoUsd}`,
});

async function heldBy(hold: Hold): Promise<bigint> {
  const { held } = await opened.walletOf(hold.workspaceId);
  expect(await opened.keyOf(hold.workspaceId, hold.keyId)).toMatchObject({ held });
  expect(await opened.monthsOf(hold.workspaceId)).toMatchObject({ held });
  expect((await opened.callOf(hold)).amount).toBe(String(held));
  return held;
}

it('raises what is held, with the ending that a sweeper would give the call, and takes nothing of the key’s rates', async () => {
  // Rates of which a call takes half a minute: Redis forgets them when they are full again.
  const { key, hold } = await aHeldCall({ rpm: 2, tpm: 200 }, 1_000n, { estimatedPromptTokens: 100 });
  const rates = () => opened.redis.hgetall(redisKeys.rates(hold.workspaceId, hold.keyId));
  const before = await rates();
  expect(await someHolds().extend(hold, to(key, 1_000n))).toEqual({ outcome: 'extended' });
  expect(await heldBy(hold)).toBe(1_000n);
  expect(hold).toMatchObject({ holdNanoUsd: 1_000n, unknownEventJson: 'of 1000' });
  expect(await opened.callOf(hold)).toMatchObject({ kind: 'held', event: 'of 1000' });
  expect(await rates()).toEqual(before);
});

it('changes nothing where as much is held already, however often and in whatever order it is asked', async () => {
  const { key, hold } = await aHeldCall();
  const holds = someHolds();
  for (const amount of [300n, 300n, 100n, 1n]) {
    expect(await holds.extend(hold, to(key, amount))).toEqual({ outcome: 'extended' });
    expect(await heldBy(hold)).toBe(300n);
    expect(hold).toMatchObject({ holdNanoUsd: 300n, unknownEventJson: 'of 300' });
  }
  await Promise.all([400n, 600n, 500n].map((amount) => holds.extend(hold, to(key, amount))));
  expect([await heldBy(hold), hold.holdNanoUsd]).toEqual([600n, 600n]);
});

it.each<[string, Parameters<typeof aFundedKey>[2], bigint]>([
  ['credit', {}, 1_000n],
  ['key_budget', { maxBudgetNanoUsd: 1_000n }, 5_000n],
  ['monthly_cap', { workspace: { monthlyCapNanoUsd: 1_000n } }, 5_000n],
])('is refused where the difference does not fit into the %s, and changes nothing', async (limiter, fields, left) => {
  const { key, hold } = await aHeldCall(fields, left);
  const refusal = { outcome: 'insufficient', limiter, availableNanoUsd: 900n };
  expect(await someHolds().extend(hold, to(key, 1_001n))).toEqual(refusal);
  expect([await heldBy(hold), hold.holdNanoUsd, hold.unknownEventJson]).toEqual([100n, 100n, 'of 100']);
  expect(await someHolds().extend(hold, to(key, 1_000n))).toEqual({ outcome: 'extended' });
});

it('lets no two calls have the same credit, 200 at once', async () => {
  const { key, hold } = await aHeldCall({}, 10_000n);
  const calls = [hold];
  for (let nth = 1; nth < 50; nth += 1) {
    const call = { callId: uuidv7(), key, holdNanoUsd: 100n, estimatedPromptTokens: 0, unknownEventJson: '{}' };
    const admission = await someHolds().admit(call);
    if (admission.outcome === 'admitted') calls.push(admission.hold);
  }
  const holds = someHolds();
  await Promise.all(
    calls.flatMap((one) => [200n, 300n, 400n, 500n].map((amount) => holds.extend(one, to(key, amount)))),
  );
  const { held } = await opened.walletOf(hold.workspaceId);
  expect(held).toBe(10_000n);
  expect(calls.reduce((sum, { holdNanoUsd }) => sum + holdNanoUsd, 0n)).toBe(held);
});

describe('a call that is not held', () => {
  it('as it has ended, keeps its charge', async () => {
    const { key, hold } = await aHeldCall();
    const { callId, keyId, workspaceId } = hold;
    const event = aUsageRecorded({ callId, keyId, workspaceId, chargeNanoUsd: 70n });
    const ended = { event, json: toUsageRecordedJson(event) };
    pending.end(ended);
    await aShardHolds(opened).settle(event, ended.json);
    expect(await someHolds().extend(hold, to(key, 200n))).toEqual({ outcome: 'not_held' });
    expect(await opened.walletOf(workspaceId)).toMatchObject({ held: 0n, ended: 70n });
    expect(sessionState.session).toEqual(opened.session);
  });

  it('is not extended where another owner has it', async () => {
    const { key, hold } = await aHeldCall();
    await opened.redis.hset(redisKeys.call(hold.workspaceId, hold.callId), 'session', 'of another owner');
    pending.drop(hold.callId);
    expect(await someHolds().extend(hold, to(key, 200n))).toEqual({ outcome: 'not_held' });
    expect(await heldBy(hold)).toBe(100n);
  });

  it('and runs all the same, has all calls put back: Redis has lost it', async () => {
    const { key, hold } = await aHeldCall();
    await opened.redis.del(redisKeys.call(hold.workspaceId, hold.callId));
    expect(await someHolds().extend(hold, to(key, 200n))).toEqual({ outcome: 'not_held' });
    expect(sessionState.session).toBeUndefined();
  });
});

it('asks the ledger for the sums that Redis lacks, of the month that the call counts in', async () => {
  const { key, hold } = await aHeldCall({ workspace: { monthlyCapNanoUsd: 1_000n } }, 5_000n);
  const month = monthOf(hold.admittedAtMs);
  await opened.redis.hdel(redisKeys.months(hold.workspaceId), `${month}:loaded`);
  onLoad = () => opened.redis.hset(redisKeys.months(hold.workspaceId), `${month}:loaded`, opened.mark);
  expect(await someHolds().extend(hold, to(key, 1_001n))).toMatchObject({
    outcome: 'insufficient',
    limiter: 'monthly_cap',
  });
  expect(loaded).toEqual([[hold.workspaceId, hold.keyId, month]]);
  expect(await someHolds().extend(hold, to(key, 1_000n))).toEqual({ outcome: 'extended' });
  await opened.redis.hdel(redisKeys.wallet(hold.workspaceId), 'loaded');
  expect(await someHolds().extend(hold, to(key, 1_100n))).toEqual({ outcome: 'not_loaded' });
});

it.each<[string, (key: KeyRecord) => KeyRecord]>([
  ['stale_key', (key) => ({ ...key, generation: 0 })],
  ['not_billable', (key) => ({ ...key, workspace: { ...key.workspace, billingStatus: 'on_hold' } })],
])('is refused as an admission is: %s', async (outcome, change) => {
  const { key, hold } = await aHeldCall();
  await opened.redis.hset(redisKeys.key(hold.workspaceId, hold.keyId), 'generation', 1);
  expect(await someHolds().extend(hold, to(change(key), 200n))).toEqual({ outcome });
  expect(await heldBy(hold)).toBe(100n);
});

it.each<[string, () => void]>([
  ['there is no session', () => sessionState.end()],
  ['calls of others are still put back', () => sessionState.close()],
])('asks nothing of Redis while %s', async (_why, change) => {
  const { key, hold } = await aHeldCall();
  change();
  expect(await someHolds().extend(hold, to(key, 200n))).toEqual({ outcome: 'closed' });
  expect(await heldBy(hold)).toBe(100n);
});

it.each<[string, () => Promise<unknown>]>([
  [
    'in another Redis',
    async () => sessionState.begin({ ...opened.session, mark: `${opened.mark}x` }, Number.POSITIVE_INFINITY),
  ],
  [
    'under a session that has lapsed while its clock stood still',
    () => opened.redis.del(redisKeys.session(TAG, opened.session.token)),
  ],
])('extends nothing %s, and has it looked at', async (_why, change) => {
  const { key, hold } = await aHeldCall();
  await change();
  expect(await someHolds().extend(hold, to(key, 200n))).toEqual({ outcome: 'closed' });
  await opened.redis.set(redisKeys.session(TAG, opened.session.token), 'router-1');
  expect([await heldBy(hold), sessionState.isOpen]).toEqual([100n, false]);
});

it('is not believed where the session is another one when the answer comes: its hold was listed as it was', async () => {
  const { key, hold } = await aHeldCall();
  const redis = Object.create(opened.redis) as Redis;
  redis.defineCommand = (name, definition) => {
    opened.redis.defineCommand(name, definition);
    const run = Reflect.get(opened.redis, name) as (...args: unknown[]) => Promise<unknown>;
    Reflect.set(redis, name, async (...args: unknown[]) => {
      const answer = await run.apply(opened.redis, args);
      sessionState.begin({ mark: opened.mark, token: 'newer' }, Number.POSITIVE_INFINITY);
      return answer;
    });
  };
  expect(await someHolds(redis).extend(hold, to(key, 200n))).toEqual({ outcome: 'closed' });
  expect(hold).toMatchObject({ holdNanoUsd: 100n, unknownEventJson: 'of 100' });
});
