import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { v7 as uuidv7 } from 'uuid';
import { aFundedKey } from '../../test/aFundedKey.ts';
import { aHold } from '../../test/aHold.ts';
import { aShardHolds } from '../../test/aShardHolds.ts';
import { headOf } from '../../test/headOf.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { toAbsorb } from '../../test/toAbsorb.ts';
import { defineScript } from '../redis/askRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { createReadCounters, findCredit, findUsedRates } from './readCounters.ts';

let opened: OpenedRedis;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());

const NOTHING = {
  spentNanoUsd: undefined,
  timeline: undefined,
  sequence: undefined,
  heldNanoUsd: 0n,
  endedNanoUsd: 0n,
};

it('shows what is counted and pending, of which place of the ledger, by whom and under which session', async () => {
  const hold = await aHold(opened, { holdNanoUsd: 700n });
  const { callId, keyId, workspaceId } = hold;
  const other = await aHold(opened, { workspaceId, owner: 'router-2' });
  const { callId: endedId, keyId: otherKeyId } = other;
  const event = aUsageRecorded({ callId: endedId, keyId: otherKeyId, workspaceId, chargeNanoUsd: 300n });
  await aShardHolds(opened).settle(event, toUsageRecordedJson(event));
  await opened.redis.hset(redisKeys.call(workspaceId, endedId), 'session', 'lapsed');
  await opened.redis.hset(redisKeys.calls(workspaceId), endedId, 'lapsed');
  await opened.loadKey(workspaceId, keyId, 50n);

  const { calls, nowMs, months, ...counters } = await createReadCounters(opened.shard)(workspaceId, '0');
  expect(counters).toEqual({
    mark: opened.mark,
    timeline: 1,
    sequence: 1,
    leftNanoUsd: 10n ** 12n,
    heldNanoUsd: 700n,
    endedNanoUsd: 300n,
    keys: {
      [keyId]: { spentNanoUsd: 50n, timeline: 1, sequence: 1, heldNanoUsd: 700n, endedNanoUsd: 0n },
      [otherKeyId]: { ...NOTHING, endedNanoUsd: 300n },
    },
    nextAfter: undefined,
  });
  const month = new Date(hold.admittedAtMs).toISOString().slice(0, 7);
  expect(months[month]).toEqual({ spentNanoUsd: 0n, timeline: 1, sequence: 1, heldNanoUsd: 700n, endedNanoUsd: 300n });
  const { admittedAtMs } = hold;
  expect(nowMs).toBeGreaterThanOrEqual(admittedAtMs);
  const { token: session } = opened.session;
  const held = { callId, keyId, kind: 'held', amountNanoUsd: 700n, month, session, hasLiveSession: true, admittedAtMs };
  const ended = { callId: endedId, kind: 'ended', amountNanoUsd: 300n, session: 'lapsed', hasLiveSession: false };
  expect(calls.find((one) => one.callId === callId)).toEqual({ ...held, owner: 'router-1' });
  expect(calls.find((one) => one.callId === endedId)).toMatchObject({ ...ended, owner: 'router-2' });
});

it('brings nothing that is not loaded', async () => {
  expect(await createReadCounters(opened.shard)('nobody', '0')).toEqual({
    nowMs: expect.any(Number),
    mark: undefined,
    timeline: undefined,
    sequence: undefined,
    leftNanoUsd: undefined,
    heldNanoUsd: 0n,
    endedNanoUsd: 0n,
    keys: {},
    months: {},
    calls: [],
    nextAfter: undefined,
  });
});

it('shows every call, by pages', async () => {
  const workspaceId = 'ws_many';
  const callIds = Array.from({ length: 3_000 }, (_, nth) => `call-${nth}`);
  const putting = opened.redis.pipeline();
  for (const callId of callIds) {
    putting.hset(redisKeys.calls(workspaceId), callId, 'session');
    putting.hset(redisKeys.call(workspaceId, callId), { kind: 'held', amount: 1, key: 'key', month: '2026-11' });
  }
  await putting.exec();
  const readCounters = createReadCounters(opened.shard);
  const seen = new Set<string>();
  let pages = 0;
  for (let after: string | undefined = '0'; after !== undefined; pages += 1) {
    const page: Awaited<ReturnType<typeof readCounters>> = await readCounters(workspaceId, after);
    for (const { callId } of page.calls) seen.add(callId);
    after = page.nextAfter;
  }
  expect(seen).toEqual(new Set(callIds));
  expect(pages).toBeGreaterThan(1);
});

it('shows every key, and reads none in the command that reads the calls but theirs', async () => {
  const workspaceId = 'ws_many_keys';
  const keyIds = Array.from({ length: 1_500 }, (_, nth) => `key-${nth}`);
  const putting = opened.redis.pipeline().sadd(redisKeys.keys(workspaceId), ...keyIds);
  for (const keyId of keyIds) putting.hset(redisKeys.key(workspaceId, keyId), { spent: 7, held: 0, ended: 0 });
  await putting.exec();
  await opened.credit(workspaceId, 1_000n);
  const { keyId } = await aHold(opened, { workspaceId, keyId: 'key-3', holdNanoUsd: 5n });
  const { keys } = await createReadCounters(opened.shard)(workspaceId, '0');
  expect(new Set(Object.keys(keys))).toEqual(new Set(keyIds));
  expect(keys['key-9']).toMatchObject({ spentNanoUsd: 7n });
  const { keys: names, args } = headOf(workspaceId, '');
  const answer = (await defineScript(opened.redis, 'readCounters')(names, [...args, '0', 1_000])) as unknown[];
  expect(answer[3]).toEqual([[keyId, expect.any(Array)]]);
});

it('shows of every key just what its calls come to, while calls are admitted and settled', async () => {
  const { workspaceId } = await aHold(opened, { holdNanoUsd: 5n });
  const holds = aShardHolds(opened);
  const readCounters = createReadCounters(opened.shard);
  let isOver = false;
  async function callUntilOver(keyId: string): Promise<void> {
    while (!isOver) {
      const { callId } = await aHold(opened, { workspaceId, keyId, holdNanoUsd: 5n });
      const event = aUsageRecorded({ callId, keyId, workspaceId, chargeNanoUsd: 3n });
      await holds.settle(event, toUsageRecordedJson(event));
      const final = [callId];
      await defineScript(opened.redis, 'absorb')(...toAbsorb(workspaceId, opened.mark, { left: 10n ** 12n, final }));
    }
  }
  const calling = Promise.all(Array.from({ length: 20 }, (_, nth) => callUntilOver(`busy-${nth}`)));
  let seen = 0;
  for (let round = 0; round < 30; round += 1) {
    const { keys, calls, nextAfter } = await readCounters(workspaceId, '0');
    expect(nextAfter).toBeUndefined();
    seen += calls.length;
    for (const [keyId, { heldNanoUsd, endedNanoUsd }] of Object.entries(keys)) {
      const own = calls.filter((call) => call.keyId === keyId);
      const sum = (kind: string) =>
        own.reduce((all, call) => (call.kind === kind ? all + call.amountNanoUsd : all), 0n);
      expect([keyId, heldNanoUsd, endedNanoUsd]).toEqual([keyId, sum('held'), sum('ended')]);
    }
  }
  expect(seen).toBeGreaterThan(30);
  isOver = true;
  await calling;
});

it('findCredit shows what is left before holds, and this month; it has loaded what Redis lacks', async () => {
  const hold = await aHold(opened, { holdNanoUsd: 700n });
  const { workspaceId } = hold;
  const other = await aHold(opened, { workspaceId });
  const event = aUsageRecorded({ callId: other.callId, keyId: other.keyId, workspaceId, chargeNanoUsd: 300n });
  await aShardHolds(opened).settle(event, toUsageRecordedJson(event));
  const asked: unknown[] = [];
  const absorber = { load: async (...what: unknown[]) => asked.push(what) > 0 };
  expect(await findCredit(opened.shard, absorber, workspaceId)).toMatchObject({
    creditNanoUsd: 10n ** 12n - 300n,
    heldNanoUsd: 700n,
    monthSpentNanoUsd: 300n,
  });
  expect(asked).toEqual([]);
  await findCredit(opened.shard, absorber, 'nobody');
  expect(asked).toEqual([['nobody', undefined, new Date(hold.admittedAtMs).toISOString().slice(0, 7)]]);
});

/** Limits of which no test sees a refill of one request or token within its time. */
const SLOW = { rpm: 1, tpm: 30 };

it.each([
  ['one call of an estimate of 10 tokens', SLOW, [10], { requests: 1, tokens: 10 }],
  ['as many requests as there are', { rpm: 3, tpm: 30 }, [1, 1, 1, 1], { requests: 3, tokens: 3 }],
  ['more tokens than there are', { rpm: 3, tpm: 30 }, [20, 50], { requests: 2, tokens: 70 }],
  ['nothing', SLOW, [], { requests: 0, tokens: 0 }],
])('shows what the gate has left of the limits per minute: %s', async (_case, rates, estimates, used) => {
  const key = await aFundedKey(opened, 10n ** 12n, rates);
  const admit = (estimatedPromptTokens: number) =>
    aShardHolds(opened).admit({
      callId: uuidv7(),
      key,
      holdNanoUsd: 1n,
      estimatedPromptTokens,
      unknownEventJson: '{}',
    });
  for (const estimate of estimates) await admit(estimate);
  const { workspaceId } = key.workspace;
  const found = await findUsedRates(opened, { workspaceId, keyId: key.keyId, ...rates });
  // Up to 3 requests and 30 tokens come back each minute.
  expect(used.requests - found.requests).toBeGreaterThanOrEqual(0);
  expect(used.requests - found.requests).toBeLessThanOrEqual(1);
  expect(used.tokens - found.tokens).toBeGreaterThanOrEqual(0);
  expect(used.tokens - found.tokens).toBeLessThanOrEqual(15);
});

it('counts stamps of a clock that was set back since as never used', async () => {
  const [workspaceId, keyId] = ['ws_back', 'key_back'];
  const later = `${(Date.now() + 120_000) * 1_000}`;
  await opened.redis.hset(redisKeys.rates(workspaceId, keyId), { level: '-5', at: later, arrival: later });
  expect(await findUsedRates(opened, { workspaceId, keyId, rpm: 10, tpm: 10 })).toEqual({ requests: 0, tokens: 0 });
});
