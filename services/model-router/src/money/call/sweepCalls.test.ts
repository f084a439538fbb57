import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { parseUsageRecorded, toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { until } from '@turnpike/test-support/until';
import type { Redis } from 'ioredis';
import { anAdmittedCall } from '../../../test/anAdmittedCall.ts';
import { type AnEventLog, anEventLog } from '../../../test/anEventLog.ts';
import { aSilentLogger } from '../../../test/aSilentLogger.ts';
import { noMetrics } from '../../../test/noMetrics.ts';
import { type OpenedRedis, openTestRedis } from '../../../test/openTestRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { createCallEndings } from './endCall.ts';
import { sweepCalls } from './sweepCalls.ts';

/** The sweeper's own rhythm; the calls' leases in these tests have ended from the start. */
const SWEEPER_LEASE_MS = 100;
const NO_LEASE_MS = -1;

let opened: OpenedRedis;
let eventLog: AnEventLog;
let sweeper: ReturnType<typeof sweepCalls> | undefined;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(() => {
  eventLog = anEventLog();
});
afterEach(async () => {
  await sweeper?.close();
  sweeper = undefined;
  await opened.redis.del(redisKeys.sweeper, redisKeys.workspaces);
});

let alerts: string[];
const sweep = (redis: Redis = opened.redis): void => {
  const endings = createCallEndings(opened.redis, opened);
  // One list for each sweeper: a round of the last one may still be on its way.
  const heard: string[] = [];
  alerts = heard;
  sweeper = sweepCalls({
    metrics: { ...noMetrics, alerted: (kind) => heard.push(kind) },
    redis,
    endings,
    balances: { load: async () => true },
    epoch: opened.epoch,
    eventLog,
    log: aSilentLogger(),
    leaseMs: SWEEPER_LEASE_MS,
  });
};
/** The Redis of these tests, in which something happens each time after a record was read. */
function aRedisThat(address: string, happens: () => Promise<unknown>): Redis {
  const hmget = async (key: string, ...fields: string[]) => {
    const values = await opened.redis.hmget(key, ...fields);
    if (key === address) await happens();
    return values;
  };
  return Object.assign(Object.create(opened.redis) as object, { hmget }) as Redis;
}
function aRedisThatFailsOnce(address: string, failure: Error): Redis {
  let failures = 0;
  return aRedisThat(address, async () => {
    failures += 1;
    if (failures === 1) throw failure;
  });
}

const heldBy = async (workspaceId: string): Promise<bigint> => (await opened.walletOf(workspaceId)).held;

it('records a call that lost its router as unknown, at no charge, and releases its hold', async () => {
  const { call, terms } = await anAdmittedCall(opened, { leaseMs: NO_LEASE_MS });
  sweep();
  await until('the event is in the log', () => eventLog.taken.length > 0);
  const [record] = eventLog.taken;
  expect(record?.key).toBe(call.keyId);
  const event = parseUsageRecorded(record?.value ?? '');
  expect(event).toMatchObject({
    callId: call.callId,
    status: 'unknown',
    chargeNanoUsd: 0n,
    promptTokens: 0,
    startedAtMs: terms.admittedAtMs,
  });
  expect(event.endedAtMs).toBeGreaterThanOrEqual(event.startedAtMs);
  expect(await opened.walletOf(call.workspaceId)).toMatchObject({ held: 0n, spent: 0n });
});

it('emits the kept event of a settled call again, which the log never acknowledged', async () => {
  const { call } = await anAdmittedCall(opened);
  const { callId, keyId, workspaceId } = call;
  const event = aUsageRecorded({ callId, keyId, workspaceId, chargeNanoUsd: 700n });
  const json = toUsageRecordedJson(event);
  await createCallEndings(opened.redis, opened).settle(event, json, { isSafe: false, keepMs: NO_LEASE_MS });
  sweep();
  const state = () => opened.redis.hget(redisKeys.call(workspaceId, callId), 'state');
  await until('the call is over', async () => (await state()) === 'done');
  expect(eventLog.taken).toEqual([{ key: keyId, value: json }]);
  expect(await opened.walletOf(workspaceId)).toMatchObject({ spent: 700n, held: 0n });
});

it('keeps a swept call in sight whose true ending comes while it is looked at', async () => {
  const { call } = await anAdmittedCall(opened, { leaseMs: NO_LEASE_MS });
  const { callId, keyId, workspaceId } = call;
  const endings = createCallEndings(opened.redis, opened);
  await endings.sweep(call, NO_LEASE_MS);
  await endings.forgetSwept(call, 'swept');
  // As another sweeper found it just before.
  await opened.redis.zadd(redisKeys.calls(workspaceId), 1, callId);
  const lost = await anAdmittedCall(opened, { leaseMs: NO_LEASE_MS });
  const event = aUsageRecorded({ callId, keyId, workspaceId, chargeNanoUsd: 700n });
  const settleLate = () => endings.settle(event, toUsageRecordedJson(event), { isSafe: false, keepMs: 60_000 });
  sweep(aRedisThat(redisKeys.call(workspaceId, callId), settleLate));
  // Events go out at the end of a round.
  await until('the round is over', () => eventLog.taken.some(({ key }) => key === lost.call.keyId));
  expect(await opened.redis.zscore(redisKeys.calls(workspaceId), callId)).not.toBeNull();
  expect(await opened.walletOf(workspaceId)).toMatchObject({ spent: 700n, held: 0n });
});

it.each<[string, string[], (address: string) => Promise<Redis>]>([
  [
    'is not readable',
    ['unreadable_call'],
    (address) => opened.redis.hset(address, 'event', '{}').then(() => opened.redis),
  ],
  ['Redis was too slow to give', [], async (address) => aRedisThatFailsOnce(address, new Error('Command timed out'))],
])('sweeps the others beside a call whose record %s, and alerts only where it stays so', async (_why, kinds, spoil) => {
  const spoilt = await anAdmittedCall(opened, { leaseMs: NO_LEASE_MS });
  const { callId, workspaceId } = spoilt.call;
  const other = await anAdmittedCall(opened, { leaseMs: NO_LEASE_MS });
  sweep(await spoil(redisKeys.call(workspaceId, callId)));
  await until('the other one is swept', () => eventLog.taken.some(({ key }) => key === other.call.keyId));
  if (kinds.length === 0) await until('this one is swept', async () => (await heldBy(workspaceId)) === 0n);
  expect([...new Set(alerts)]).toEqual(kinds);
});

it('comes to every call, however many unreadable ones are before it', async () => {
  const lost = await Promise.all([1, 2].map(() => anAdmittedCall(opened, { leaseMs: NO_LEASE_MS })));
  const unreadable = Array.from({ length: 2_100 }, (_, n) => `unreadable-${n}`);
  for (const { workspaceId } of lost.map(({ call }) => call)) {
    const spoiling = opened.redis.pipeline();
    for (const callId of unreadable)
      spoiling.hset(redisKeys.call(workspaceId, callId), 'event', '{}').zadd(redisKeys.calls(workspaceId), 1, callId);
    await spoiling.exec();
  }
  sweep();
  await until('both are swept', async () => {
    const held = await Promise.all(lost.map(({ call }) => heldBy(call.workspaceId)));
    return held.every((amount) => amount === 0n);
  });
  for (const { call } of lost)
    expect(await opened.redis.zcount(redisKeys.calls(call.workspaceId), 1, 1)).toBe(unreadable.length);
  expect(new Set(alerts)).toEqual(new Set(['unreadable_call']));
});

it('forgets a lease of which no call is left', async () => {
  const { call } = await anAdmittedCall(opened, { leaseMs: NO_LEASE_MS });
  const { callId, workspaceId } = call;
  await opened.redis.del(redisKeys.call(workspaceId, callId));
  sweep();
  const lease = () => opened.redis.zscore(redisKeys.calls(workspaceId), callId);
  await until('the lease is gone', async () => (await lease()) === null);
  expect(eventLog.taken).toEqual([]);
});

it('looks no more at a workspace whose calls are over, and again at the next one it has', async () => {
  const first = await anAdmittedCall(opened);
  const running = await anAdmittedCall(opened);
  const { workspaceId, keyId } = first.call;
  const endings = createCallEndings(opened.redis, opened);
  const isLookedAt = async (id: string) => (await opened.redis.sismember(redisKeys.workspaces, id)) === 1;
  sweep();
  const event = aUsageRecorded({ callId: first.call.callId, keyId, workspaceId, chargeNanoUsd: 700n });
  await endings.settle(event, toUsageRecordedJson(event), { isSafe: true, keepMs: 0 });
  await until('it is looked at no more', async () => !(await isLookedAt(workspaceId)));
  expect(await isLookedAt(running.call.workspaceId)).toBe(true);

  const lost = await anAdmittedCall(opened, { leaseMs: NO_LEASE_MS, workspaceId });
  await until('the next one is swept', () => eventLog.taken.some(({ key }) => key === lost.call.keyId));
  await until('it is over as well', async () => !(await isLookedAt(workspaceId)));
});

it('finds every call that loses its router, while workspaces come into sight and leave it all the time', async () => {
  const endings = createCallEndings(opened.redis, opened);
  const workspaceIds = Array.from({ length: 3 }, () => `ws_${randomUUID()}`);
  await Promise.all(workspaceIds.map((workspaceId) => opened.credit(workspaceId, 10n ** 12n)));
  const lost: string[] = [];
  const work = async (workspaceId: string): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) {
      const isLost = turn % 5 === 0;
      const { call } = await anAdmittedCall(opened, { workspaceId, ...(isLost && { leaseMs: NO_LEASE_MS }) });
      if (isLost) lost.push(call.callId);
      else await endings.release(call);
    }
  };
  sweep();
  await Promise.all(workspaceIds.flatMap((workspaceId) => [work(workspaceId), work(workspaceId)]));
  const found = () => new Set(eventLog.taken.map(({ value }) => parseUsageRecorded(value).callId));
  await until('all of them are in the log', () => lost.every((callId) => found().has(callId)));
  expect(found().size).toBe(lost.length);
  expect(await Promise.all(workspaceIds.map(heldBy))).toEqual(workspaceIds.map(() => 0n));
});

it('leaves a running call alone', async () => {
  const running = await anAdmittedCall(opened);
  const lost = await anAdmittedCall(opened, { leaseMs: NO_LEASE_MS });
  sweep();
  await until('the other call is swept', () => eventLog.taken.length > 0);
  expect(eventLog.taken.map(({ key }) => key)).toEqual([lost.call.keyId]);
  expect(await heldBy(running.call.workspaceId)).toBe(running.call.holdNanoUsd);
});

it('releases every hold while the event log is down, and emits the events when it is back', async () => {
  const calls = await Promise.all(Array.from({ length: 5 }, () => anAdmittedCall(opened, { leaseMs: NO_LEASE_MS })));
  eventLog.isDown = true;
  sweep();
  await until('all holds are released', async () => {
    const held = await Promise.all(calls.map(({ call }) => heldBy(call.workspaceId)));
    return held.every((amount) => amount === 0n) && eventLog.refusals > 0;
  });
  // The log was first asked with all of them: no hold had waited for it, one call after the other.
  expect(eventLog.firstRefused).toHaveLength(calls.length);
  eventLog.isDown = false;
  await until('all events are in the log', () => new Set(eventLog.taken.map(({ key }) => key)).size === calls.length);
});

it('does not sweep while another router does', async () => {
  const { call } = await anAdmittedCall(opened, { leaseMs: NO_LEASE_MS });
  await opened.redis.set(redisKeys.sweeper, 'another router', 'PX', 2_000);
  sweep();
  await until('the other one is gone', async () => {
    // Read before it is known that the other one was still there then.
    const held = await heldBy(call.workspaceId);
    if ((await opened.redis.get(redisKeys.sweeper)) !== 'another router') return true;
    expect(held).toBe(call.holdNanoUsd);
    return false;
  });
  await until('the call is swept', async () => (await heldBy(call.workspaceId)) === 0n);
});
