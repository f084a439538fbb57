import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import { until } from '@turnpike/test-support/until';
import { anAdmittedCall } from '../../../test/anAdmittedCall.ts';
import { type AnEventLog, anEventLog } from '../../../test/anEventLog.ts';
import { aSilentLogger } from '../../../test/aSilentLogger.ts';
import { aTemporaryFolder } from '../../../test/aTemporaryFolder.ts';
import { noMetrics } from '../../../test/noMetrics.ts';
import { type OpenedRedis, openTestRedis } from '../../../test/openTestRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { Spool } from '../spool/spool.ts';
import { createCallEndings } from './endCall.ts';
import { HeldCalls } from './heldCalls.ts';
import { publishEvents } from './publishEvents.ts';

const log = aSilentLogger();
let opened: OpenedRedis;
let dir: string;
let spool: Spool;
let eventLog: AnEventLog;
let heldCalls: HeldCalls;
let publisher: ReturnType<typeof publishEvents> | undefined;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(async () => {
  dir = await aTemporaryFolder();
  spool = await Spool.open({ dir, maxBytes: 1_000_000, log });
  eventLog = anEventLog();
  heldCalls = new HeldCalls();
});
afterEach(async () => {
  await publisher?.close(0);
  await spool.close();
  await rm(dir, { recursive: true });
});

const publish = (): void => {
  const endings = createCallEndings(opened.redis, opened);
  const { epoch } = opened;
  publisher = publishEvents({ spool, eventLog, endings, heldCalls, epoch, metrics: noMetrics, log });
};
const append = (event: UsageRecorded): Promise<void> => spool.append(toUsageRecordedJson(event));
const someEvents = (count: number): UsageRecorded[] => Array.from({ length: count }, () => aUsageRecorded());

it('carries events to the log in their order, each under its key', async () => {
  const events = someEvents(50);
  publish();
  for (const event of events) await append(event);
  await until('all events are in the log', () => eventLog.taken.length === 50);
  expect(eventLog.taken).toEqual(events.map((event) => ({ key: event.keyId, value: toUsageRecordedJson(event) })));
});

it('loses nothing and changes no order while the log is down', async () => {
  const events = someEvents(30);
  eventLog.isDown = true;
  publish();
  for (const event of events.slice(0, 10)) await append(event);
  await until('the log has refused', () => eventLog.refusals >= 3);
  for (const event of events.slice(10)) await append(event);
  expect(eventLog.taken).toEqual([]);
  expect(spool.hasUnread).toBe(true);
  eventLog.isDown = false;
  await until('the spool is read', () => !spool.hasUnread);
  expect(eventLog.taken.map(({ value }) => value)).toEqual(events.map(toUsageRecordedJson));
});

it('forgets the event of a call in Redis only after the log has its event', async () => {
  const { call } = await anAdmittedCall(opened);
  const { callId, keyId, workspaceId } = call;
  const event = aUsageRecorded({ callId, keyId, workspaceId, chargeNanoUsd: 700n });
  const endings = createCallEndings(opened.redis, opened);
  await endings.settle(event, toUsageRecordedJson(event), { isSafe: false, keepMs: 60_000 });
  const record = redisKeys.call(workspaceId, callId);
  eventLog.isDown = true;
  publish();
  await append(event);
  await until('the log has refused', () => eventLog.refusals > 0);
  expect(await opened.redis.hget(record, 'state')).toBe('settled');
  eventLog.isDown = false;
  await until('the call is over', async () => (await opened.redis.hget(record, 'state')) === 'done');
  expect(await opened.walletOf(workspaceId)).toMatchObject({ spent: 700n, held: 0n });
});

it('settles what a crashed router left in its spool, once', async () => {
  const { call } = await anAdmittedCall(opened);
  const { callId, keyId, workspaceId } = call;
  const event = aUsageRecorded({ callId, keyId, workspaceId, chargeNanoUsd: 700n });
  await append(event);
  await append(event);
  publish();
  await until('the spool is read', () => !spool.hasUnread);
  expect(await opened.walletOf(workspaceId)).toMatchObject({ spent: 700n, held: 0n });
});

it('leaves an event that nobody can read to the reader’s dead letters, and goes on', async () => {
  const event = aUsageRecorded();
  await spool.append('{"version":99}');
  await append(event);
  publish();
  await until('the spool is read', () => !spool.hasUnread);
  expect(eventLog.taken).toEqual([
    { key: 'unreadable', value: '{"version":99}' },
    { key: event.keyId, value: toUsageRecordedJson(event) },
  ]);
});

it('sends what was appended before it closes', async () => {
  publish();
  for (const event of someEvents(20)) await append(event);
  await publisher?.close(10_000);
  expect(eventLog.taken).toHaveLength(20);
});
