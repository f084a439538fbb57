import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { parseUsageRecorded, toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { until } from '@turnpike/test-support/until';
import { anAdmittedCall } from '../../test/anAdmittedCall.ts';
import { type AnEventLog, anEventLog } from '../../test/anEventLog.ts';
import { aSilentLogger } from '../../test/aSilentLogger.ts';
import { noMetrics } from '../../test/noMetrics.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { createCallEndings } from '../admission/endCall.ts';
import { redisKeys } from '../admission/redisKeys.ts';
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
  sweeper?.close();
  sweeper = undefined;
  await opened.redis.del(redisKeys.sweeper, redisKeys.workspaces);
});

const sweep = (): void => {
  const endings = createCallEndings(opened.redis, opened);
  sweeper = sweepCalls({
    metrics: noMetrics,
    redis: opened.redis,
    endings,
    balances: { load: async () => true },
    epoch: opened.epoch,
    eventLog,
    log: aSilentLogger(),
    leaseMs: SWEEPER_LEASE_MS,
  });
};
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
