import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import { aHold } from '../../test/aHold.ts';
import { TAG } from '../../test/aShard.ts';
import { aShardHolds } from '../../test/aShardHolds.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { toAbsorb } from '../../test/toAbsorb.ts';
import { type Hold, PendingCalls } from '../call/pendingCalls.ts';
import { createRaiseGeneration, createSetBackGeneration } from '../gate/keyGeneration.ts';
import { defineScript, readRedis, readRedisTime } from './askRedis.ts';
import { LAYOUT, redisKeys } from './redisKeys.ts';

// A Redis that has reached its maxmemory refuses what takes memory, and runs everything that frees some.

let opened: OpenedRedis;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
const setLimit = (maxmemory: string) => opened.redis.config('SET', 'maxmemory', maxmemory);
const fill = () => setLimit('1');
afterEach(() => setLimit('0'));

const settle = ({ callId, keyId, workspaceId }: Hold) => {
  const event = aUsageRecorded({ callId, keyId, workspaceId, chargeNanoUsd: 300n });
  return aShardHolds(opened).settle(event, toUsageRecordedJson(event));
};
const aRequest = (workspaceId: string) => ({
  callId: randomUUID(),
  key: aKeyRecord({ workspace: { workspaceId } }),
  holdNanoUsd: 1_000n,
  estimatedPromptTokens: 1,
  unknownEventJson: '{}',
});

it('says how much of its maxmemory is used', async () => {
  expect(await readRedis(opened.redis)).toMatchObject({ memoryShare: 0 });
  await setLimit(String(1024 ** 4));
  const { memoryShare } = await readRedis(opened.redis);
  expect(memoryShare).toBeGreaterThan(0);
  expect(memoryShare).toBeLessThan(0.01);
  await fill();
  expect((await readRedis(opened.redis)).memoryShare).toBeGreaterThan(1);
});

it('refuses an admission and an extension when it is full, and changes nothing by them', async () => {
  const hold = await aHold(opened, { holdNanoUsd: 1_000n });
  const { workspaceId, callId } = hold;
  const holds = aShardHolds(opened);
  await fill();
  await expect(holds.admit(aRequest(workspaceId))).rejects.toThrow(/^OOM /);
  const more = { holdNanoUsd: 2_000n, unknownEventJson: '{}', key: aKeyRecord({ workspace: { workspaceId } }) };
  await expect(holds.extend(hold, more)).rejects.toThrow(/^OOM /);
  expect(await opened.walletOf(workspaceId)).toMatchObject({ held: 1_000n });
  expect(await opened.pendingOf(workspaceId)).toEqual([callId]);
});

it('keeps no tombstone of a call that it refused because it was full', async () => {
  const { workspaceId } = await aHold(opened);
  const { redis } = opened;
  const holds = aShardHolds(opened);
  await fill();
  const before = await redis.dbsize();
  await expect(holds.admit(aRequest(workspaceId))).rejects.toThrow(/^OOM /);
  // Commands of one connection keep their order, so a release would have run by then.
  expect(await redis.dbsize()).toBe(before);
});

it('settles, releases, absorbs and puts back when it is full, so that calls leave it', async () => {
  const hold = await aHold(opened, { holdNanoUsd: 1_000n });
  const { workspaceId } = hold;
  const others = await Promise.all([1, 2].map(() => aHold(opened, { holdNanoUsd: 1_000n, workspaceId })));
  const [released, back] = others as [Hold, Hold];
  await opened.redis.del(redisKeys.call(workspaceId, back.callId));
  await fill();
  expect(await settle(hold)).toBe('held');
  await aShardHolds(opened).release(released);
  const pending = new PendingCalls();
  pending.add(back);
  await aShardHolds(opened, { pending }).putBackAll(opened.session);
  expect(await opened.walletOf(workspaceId)).toMatchObject({ held: 1_000n, ended: 300n });
  const final = [hold.callId, back.callId];
  const [keys, args] = toAbsorb(workspaceId, opened.mark, { sequence: 2, left: 10n ** 12n, final });
  expect(await defineScript(opened.redis, 'absorb')(keys, args)).toEqual(['absorbed', expect.any(Number), []]);
  expect(await opened.walletOf(workspaceId)).toMatchObject({ held: 0n, ended: 0n });
  expect(await opened.pendingOf(workspaceId)).toEqual([]);
});

it('takes a mark, a session and news of keys when it is full', async () => {
  const { redis, mark } = opened;
  await fill();
  const until = (await readRedisTime(redis)) + 60_000;
  expect(
    await defineScript(redis, 'setMark')([redisKeys.mark(TAG), redisKeys.layout(TAG)], [mark, until, LAYOUT]),
  ).toBe('marked');
  const session = redisKeys.session(TAG, randomUUID());
  const claim = defineScript(redis, 'claim');
  expect(await claim([session], ['router-1', 60_000])).toBe(1);
  expect(await claim([session], ['router-2', 60_000])).toBe(0);
  expect([await redis.get(session), (await redis.pttl(session)) > 0]).toEqual(['router-1', true]);
  const key = { workspaceId: 'ws_full', keyId: 'key_full', generation: 2 };
  expect(await createRaiseGeneration(redis)(key)).toBe(2);
  expect(await createSetBackGeneration(redis)({ ...key, generation: 1 }, 2)).toBe('set_back');
});
