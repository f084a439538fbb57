import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { parseUsageRecorded, toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import { until } from '@turnpike/test-support/until';
import type { Redis } from 'ioredis';
import { aHold, aLapsedHold } from '../../test/aHold.ts';
import { type AnEventLog, anEventLog } from '../../test/anEventLog.ts';
import { TAG } from '../../test/aShard.ts';
import { aShardHolds } from '../../test/aShardHolds.ts';
import { aTestLedger, type TestLedger } from '../../test/aTestLedger.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { ShardAbsorber } from '../balances/absorb.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import type { Hold } from './pendingCalls.ts';
import { sweepCalls } from './sweepCalls.ts';

/** The sweeper's own rhythm. */
const LEASE_MS = 100;

let opened: OpenedRedis;
let ledger: TestLedger;
let eventLog: AnEventLog;
let alerts: string[];
let swept: number;
let sweepers: ReturnType<typeof sweepCalls>[];
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(async () => {
  ledger = await aTestLedger();
  eventLog = anEventLog();
  sweepers = [];
  alerts = [];
  swept = 0;
});
afterEach(async () => {
  for (const sweeper of sweepers) await sweeper.close();
  ledger.close();
  // No test sweeps the calls of another.
  const found = await opened.redis.keys('{*}:calls');
  await opened.redis.del(redisKeys.sweeper(TAG), ...found);
});

function sweep(redis: Redis = opened.redis): void {
  const { sessionState } = opened;
  // One list for each sweeper: a round of the last one may still be on its way.
  const heard: string[] = [];
  alerts = heard;
  const internalHeaders = () => ({});
  sweepers.push(
    sweepCalls({
      metrics: {
        ...noMetrics,
        alerted: (kind) => void heard.push(kind),
        holdSwept: () => {
          swept += 1;
        },
      },
      shard: { redis, sessionState, tag: TAG },
      absorber: new ShardAbsorber({
        redis: opened.redis,
        ledgerUrl: ledger.url,
        internalHeaders,
        timeoutMs: 20_000,
        sessionState,
      }),
      eventLog,
      log: aSilentLogger(),
      leaseMs: LEASE_MS,
    }),
  );
}

/** A call under a session that is gone. */
const aLostCall = (fields: { workspaceId?: string } = {}): Promise<Hold> => aLapsedHold(opened, fields);

async function settle({ callId, keyId, workspaceId }: Hold): Promise<UsageRecorded> {
  const event = aUsageRecorded({ callId, keyId, workspaceId, chargeNanoUsd: 700n });
  expect(await aShardHolds(opened).settle(event, toUsageRecordedJson(event))).toBe('held');
  return event;
}

/** The Redis of these tests, with something that fails once on the way to a record. */
function aRedisThatFailsOnce(address: string, failure: Error): Redis {
  let failures = 0;
  const hmget = async (key: string, ...fields: string[]) => {
    if (key === address) failures += 1;
    if (key === address && failures === 1) throw failure;
    return opened.redis.hmget(key, ...fields);
  };
  return Object.assign(Object.create(opened.redis) as object, { hmget }) as Redis;
}

const heldBy = async ({ workspaceId }: { workspaceId: string }): Promise<bigint> =>
  (await opened.walletOf(workspaceId)).held;
const sentOf = ({ callId }: Hold) => eventLog.taken.filter(({ value }) => parseUsageRecorded(value).callId === callId);
const isSent = (call: Hold) => until('its event is in the log', () => sentOf(call).length > 0);
/** The ledger has recorded the `unknown` rows that the log has. */
function recordUnknown({ callId, workspaceId }: Hold): void {
  ledger.booksOf(workspaceId).unknown.push(callId);
}

it('sends nothing of a call that lies in the ledger as a dead letter', async () => {
  const [dead, other] = [await aLostCall(), await aLostCall()];
  ledger.booksOf(dead.workspaceId).deadLetters.push(dead.callId);
  sweep();
  await isSent(other);
  await until('the sweeper has come by again', () => sentOf(other).length > 1);
  expect(sentOf(dead)).toEqual([]);
});

it('sends the unknown ending of a call that lost its owner, and lets go of its hold once that is recorded', async () => {
  const call = await aLostCall();
  sweep();
  await isSent(call);
  const [record] = sentOf(call);
  expect(record?.key).toBe(call.keyId);
  const event = parseUsageRecorded(record?.value ?? '');
  expect(event).toMatchObject({
    status: 'unknown',
    chargeNanoUsd: 0n,
    promptTokens: 0,
    startedAtMs: call.admittedAtMs,
  });
  expect(event.endedAtMs).toBeGreaterThanOrEqual(event.startedAtMs);
  expect(await heldBy(call)).toBe(call.holdNanoUsd);

  recordUnknown(call);
  await until('the hold is gone', async () => (await heldBy(call)) === 0n);
  expect(await opened.pendingOf(call.workspaceId)).toEqual([]);
  expect(swept).toBe(1);
});

it('sends the true ending of a call that had ended, and leaves its charge until that is recorded', async () => {
  const call = await aLostCall();
  const event = await settle(call);
  sweep();
  await isSent(call);
  expect(sentOf(call)[0]).toEqual({ key: call.keyId, value: toUsageRecordedJson(event) });
  // Simulates a call that was once taken for lost.
  recordUnknown(call);
  await until('it is sent again', () => sentOf(call).length > 1);
  expect(await opened.walletOf(call.workspaceId)).toMatchObject({ held: 0n, ended: 700n });

  ledger.booksOf(call.workspaceId).final.push(call.callId);
  await until('it is over', async () => (await opened.pendingOf(call.workspaceId)).length === 0);
  expect((await opened.walletOf(call.workspaceId)).ended).toBe(0n);
  expect(swept).toBe(0);
});

it('sends nothing of a call that is recorded already, and lets go of it', async () => {
  const call = await aLostCall();
  ledger.booksOf(call.workspaceId).final.push(call.callId);
  sweep();
  await until('it is over', async () => (await opened.pendingOf(call.workspaceId)).length === 0);
  expect(await heldBy(call)).toBe(0n);
  expect(eventLog.taken).toEqual([]);
});

it('leaves a call alone whose session is live, and one that was put back under another', async () => {
  const running = await aHold(opened);
  const back = await aLostCall();
  const { token } = opened.session;
  await opened.redis.hset(redisKeys.call(back.workspaceId, back.callId), 'session', token);
  await opened.redis.hset(redisKeys.calls(back.workspaceId), back.callId, token);
  const lost = await aLostCall();
  recordUnknown(running);
  recordUnknown(back);
  sweep();
  await until('the lost one was swept twice', () => sentOf(lost).length > 1);
  expect(new Set(eventLog.taken.map(({ key }) => key))).toEqual(new Set([lost.keyId]));
  expect(await heldBy(running)).toBe(running.holdNanoUsd);
  expect(await heldBy(back)).toBe(back.holdNanoUsd);
});

it('takes no session for gone before it has missed it for a while', async () => {
  const call = await aLostCall();
  /** How many events were sent by each look. */
  const sent: number[] = [];
  const exists = async (...keys: string[]) => {
    sent.push(eventLog.taken.length);
    return opened.redis.exists(...keys);
  };
  sweep(Object.assign(Object.create(opened.redis) as object, { exists }) as Redis);
  await isSent(call);
  expect(sent.slice(0, 2)).toEqual([0, 0]);
});

it.each<[string, string[], (address: string) => Promise<Redis>]>([
  [
    'is not readable',
    ['unreadable_call'],
    (address) => opened.redis.hset(address, 'event', '{}').then(() => opened.redis),
  ],
  ['Redis was too slow to give', [], async (address) => aRedisThatFailsOnce(address, new Error('Command timed out'))],
])('sweeps the others beside a call whose record %s', async (_why, kinds, spoil) => {
  const spoilt = await aLostCall();
  const beside = await aLostCall({ workspaceId: spoilt.workspaceId });
  const other = await aLostCall();
  sweep(await spoil(redisKeys.call(spoilt.workspaceId, spoilt.callId)));
  await isSent(beside);
  await isSent(other);
  if (kinds.length === 0) await isSent(spoilt);
  else expect(alerts).toEqual(expect.arrayContaining(kinds));
});

it('sweeps the others beside a workspace that cannot be', async () => {
  const spoilt = await aLostCall();
  await opened.redis.set(redisKeys.wallet(spoilt.workspaceId), 'no hash');
  const other = await aLostCall();
  sweep();
  await isSent(other);
  await opened.redis.del(redisKeys.wallet(spoilt.workspaceId));
});

it('comes to every call of a workspace, however many unreadable ones are before it', async () => {
  const call = await aLostCall();
  const spoiling = opened.redis.pipeline();
  for (let nth = 0; nth < 2_100; nth += 1) {
    spoiling.hset(redisKeys.calls(call.workspaceId), `unreadable-${nth}`, 'lapsed');
    spoiling.hset(redisKeys.call(call.workspaceId, `unreadable-${nth}`), { kind: 'held', key: 'key', event: '{}' });
  }
  await spoiling.exec();
  sweep();
  await isSent(call);
  expect(new Set(alerts)).toEqual(new Set(['unreadable_call']));
});

it('comes to every workspace, however many keys there are', async () => {
  const calls = await Promise.all(Array.from({ length: 30 }, () => aLostCall()));
  const filling = opened.redis.pipeline();
  for (let nth = 0; nth < 5_000; nth += 1) filling.set(`{ws_${nth}}:other`, 1, 'PX', 60_000);
  await filling.exec();
  sweep();
  for (const call of calls) await isSent(call);
});

it('looks away and goes on while the event log or the ledger is down', async () => {
  const call = await aLostCall();
  eventLog.isDown = true;
  ledger.fails = 503;
  sweep();
  await until('the ledger was asked', () => ledger.asked.length >= 2);
  expect(eventLog.refusals).toBe(0);
  ledger.fails = undefined;
  await until('the log has refused', () => eventLog.refusals >= 2);
  expect(await heldBy(call)).toBe(call.holdNanoUsd);
  eventLog.isDown = false;
  await isSent(call);
  expect(swept).toBe(1);
});

it('does not sweep while another owner does', async () => {
  const call = await aLostCall();
  await opened.redis.set(redisKeys.sweeper(TAG), 'another owner', 'PX', 2_000);
  sweep();
  await until('the other one is gone', async () => {
    // Read before it is known that the other one was still there then.
    const sent = sentOf(call).length;
    if ((await opened.redis.get(redisKeys.sweeper(TAG))) !== 'another owner') return true;
    expect(sent).toBe(0);
    return false;
  });
  await isSent(call);
});

it('does not sweep while calls of owners are still put back', async () => {
  const call = await aLostCall();
  const later = await aLostCall();
  opened.sessionState.close();
  sweep();
  await new Promise((resolve) => setTimeout(resolve, 5 * LEASE_MS));
  expect(eventLog.taken).toEqual([]);
  opened.sessionState.open();
  await isSent(call);
  await isSent(later);
});
