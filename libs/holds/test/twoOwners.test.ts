import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { parseUsageRecorded, toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { connectRedis } from '@turnpike/redis-connection/connectRedis';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { until } from '@turnpike/test-support/until';
import { v7 as uuidv7 } from 'uuid';
import { ShardAbsorber } from '../src/balances/absorb.ts';
import { type Hold, monthOf, PendingCalls } from '../src/call/pendingCalls.ts';
import { recoverSpool } from '../src/call/recoverSpool.ts';
import { PutBack } from '../src/follow/putBack.ts';
import { Holds } from '../src/holds.ts';
import { readRedis } from '../src/redis/askRedis.ts';
import { redisKeys } from '../src/redis/redisKeys.ts';
import { SessionState } from '../src/redis/sessionState.ts';
import { type AnEventLog, anEventLog } from './anEventLog.ts';
import { aShard, shardsOf, TAG } from './aShard.ts';
import { aTestLedger, type TestLedger } from './aTestLedger.ts';
import { type OpenedRedis, openTestRedis } from './openTestRedis.ts';

// The lib's promises to owners of holds, with two owners on one Redis. The calls of one last as long as a process. The
// jobs of the other outlive processes, because it keeps its holds in a queue of its own and returns to them.

const CREDIT = 10_000n;
const LEASE_MS = 2_000;
const log = aSilentLogger();

/** A process of an owner. */
interface OwnerProcess {
  holds: Holds;
  sessionState: SessionState;
  pending: PendingCalls;
  /** Ends as kill -9 does. */
  kill(): Promise<void>;
}

let opened: OpenedRedis;
let ledger: TestLedger;
let eventLog: AnEventLog;
let key: KeyRecord;
let processes: OwnerProcess[];
const folders = new Map<string, string>();
beforeAll(async () => {
  opened = await openTestRedis();
  ledger = await aTestLedger();
});
afterAll(async () => {
  await ledger.close();
  await opened.close();
});
beforeEach(() => {
  processes = [];
  eventLog = anEventLog();
  key = aKeyRecord();
  Object.assign(ledger.booksOf(key.workspace.workspaceId), { seq: 1, leftNanoUsd: CREDIT });
});
afterEach(async () => {
  for (const { kill } of processes) await kill();
  for (const folder of folders.values()) await rm(folder, { recursive: true });
  folders.clear();
});

/** A ledger that finds every owner in its place, and knows one mark. */
const reportsOf = (name: string) => ({
  report: async ({ redisId, putBackMark }: { redisId: string | null; putBackMark: string | null }) => ({
    redisId,
    mark: name,
    isToBeSet: false,
    isOpen: putBackMark === name,
    isStranger: false,
    waitsFor: [],
  }),
});

/** Long: the ledger here answers, though a busy machine may take its time. */
const ledgerOptions = () => ({ ledgerUrl: ledger.url, internalHeaders: () => ({}), timeoutMs: 20_000 });

async function start(owner: string): Promise<OwnerProcess> {
  const folder = folders.get(owner) ?? (await aTemporaryFolder());
  folders.set(owner, folder);
  const redis = connectRedis(opened.server.url, { timeoutMs: 3_000, log });
  await until('the connection stands', () => redis.status === 'ready');
  const sessionState = new SessionState();
  const pending = new PendingCalls();
  const { spool, left } = await recoverSpool({ dir: folder, maxBytes: 1_000_000, metrics: noMetrics, log });
  const absorber = new ShardAbsorber({ redis, sessionState, ...ledgerOptions() });
  const holds = new Holds({
    shards: shardsOf(aShard(redis, sessionState)),
    owner,
    leaseMs: LEASE_MS,
    pending,
    spool,
    left,
    absorber,
    reports: reportsOf(await markName()),
    eventLog,
    metrics: noMetrics,
    log,
  });
  let ended: Promise<void> | undefined;
  async function end(): Promise<void> {
    redis.disconnect();
    await holds.close(0);
    await spool.close();
  }
  const process: OwnerProcess = {
    holds,
    sessionState,
    pending,
    kill() {
      ended ??= end();
      return ended;
    },
  };
  processes.push(process);
  return process;
}

/** The one that Redis has, which is its process' id, the tag of its shard, and a name. */
async function markName(): Promise<string> {
  const mark = (await opened.redis.get(redisKeys.mark(TAG))) ?? '';
  return mark.slice(`${(await readRedis(opened.redis)).redisId}:${TAG}:`.length);
}

const opens = (process: OwnerProcess) => until('it has a session', () => process.sessionState.isOpen);
const walletOf = () => opened.walletOf(key.workspace.workspaceId);

async function admit({ holds }: OwnerProcess, holdNanoUsd: bigint): Promise<Hold> {
  const callId = uuidv7();
  const request = { callId, key, holdNanoUsd, estimatedPromptTokens: 0, unknownEventJson: unknownOf(callId) };
  const admission = await holds.admit(request);
  if (admission.outcome !== 'admitted') throw new Error(`call was ${admission.outcome}`);
  return admission.hold;
}

const eventOf = (callId: string, fields: Parameters<typeof aUsageRecorded>[0]) =>
  aUsageRecorded({ callId, keyId: key.keyId, workspaceId: key.workspace.workspaceId, ...fields });
const unknownOf = (callId: string): string =>
  toUsageRecordedJson(eventOf(callId, { status: 'unknown', chargeNanoUsd: 0n, startedAtMs: 0, endedAtMs: 0 }));

async function settle({ holds }: OwnerProcess, { callId }: Hold, chargeNanoUsd: bigint): Promise<void> {
  const event = eventOf(callId, { chargeNanoUsd });
  expect(await holds.settle({ event, json: toUsageRecordedJson(event) })).toBe(true);
}

/** Whether the log has the true endings: a sweeper may have sent unknown ones before. */
const areEnded = (...holds: Hold[]): boolean =>
  holds.every(({ callId }) =>
    eventLog.taken.some(({ value }) => value.includes(callId) && parseUsageRecorded(value).status === 'success'),
  );

/** The ledger has read all that the log has by now: the last event of a call is the one that counts. */
function record(): void {
  const books = ledger.booksOf(key.workspace.workspaceId);
  const events = new Map(
    eventLog.taken.map(({ value }) => [parseUsageRecorded(value).callId, parseUsageRecorded(value)]),
  );
  const charges = [...events.values()].map(({ chargeNanoUsd }) => chargeNanoUsd);
  books.final = [...events.values()].filter(({ status }) => status !== 'unknown').map(({ callId }) => callId);
  books.unknown = [...events.values()].filter(({ status }) => status === 'unknown').map(({ callId }) => callId);
  books.leftNanoUsd = CREDIT - charges.reduce((sum, charge) => sum + charge, 0n);
  books.seq += 1;
}

async function loadBalances(): Promise<void> {
  const { redis, sessionState } = opened;
  await new ShardAbsorber({ redis, sessionState, ...ledgerOptions() }).load(key.workspace.workspaceId, key.keyId);
}

it('keeps a job’s hold, which was raised, over the ends of its processes, beside calls that come and go', async () => {
  const streams = await start('streams');
  let jobs = await start('jobs');
  await opens(streams);
  await opens(jobs);
  await loadBalances();
  const job = await admit(jobs, 1_000n);
  const call = await admit(streams, 500n);
  expect(await jobs.holds.extend(job, { key, holdNanoUsd: 9_501n, unknownEventJson: unknownOf(job.callId) })).toEqual({
    outcome: 'insufficient',
    limiter: 'credit',
    availableNanoUsd: CREDIT - 1_500n,
  });
  expect(await jobs.holds.extend(job, { key, holdNanoUsd: 9_000n, unknownEventJson: unknownOf(job.callId) })).toEqual({
    outcome: 'extended',
  });
  const queue = [structuredClone(job)];
  await jobs.kill();
  jobs = await start('jobs');
  await jobs.holds.putBack(queue);
  expect(await opened.callOf(job)).toMatchObject({
    kind: 'held',
    amount: '9000',
    owner: 'jobs',
    session: jobs.sessionState.session?.token,
  });
  expect(await walletOf()).toMatchObject({ held: 9_500n, ended: 0n });
  await expect(admit(streams, 501n)).rejects.toThrow('insufficient');
  await settle(streams, call, 400n);
  await until('the call is settled', async () => (await walletOf()).ended === 400n);
  // Redis forgets the workspace: both owners find out, and put back what they have.
  await opened.redis.del(await opened.redis.keys(`{${key.workspace.workspaceId}}:*`));
  streams.sessionState.reportMissingCall();
  jobs.sessionState.reportMissingCall();
  await until('all is back', async () => {
    const { held, ended } = await walletOf();
    return held === 9_000n && ended === 400n;
  });
  await opens(jobs);
  await settle(jobs, job, 8_000n);
  await until('both have ended in the log', () => areEnded(call, job));
  record();
  await until('nothing is pending', async () => (await opened.pendingOf(key.workspace.workspaceId)).length === 0);
  expect(await walletOf()).toEqual({ left: CREDIT - 8_400n, held: 0n, ended: 0n });
  await until('nothing is left to bring', () => jobs.pending.isEmpty && streams.pending.isEmpty);
});

it('charges a job once, as it ended, that was taken for lost while no process had it', async () => {
  let jobs = await start('jobs');
  await opens(jobs);
  await loadBalances();
  const job = await admit(jobs, 1_000n);
  await jobs.kill();
  const streams = await start('streams');
  await until('it is recorded as unknown', () => eventLog.taken.length > 0);
  record();
  await until('its hold is gone', async () => (await walletOf()).held === 0n);
  jobs = await start('jobs');
  await jobs.holds.putBack([job]);
  expect((await walletOf()).held).toBe(1_000n);
  await settle(jobs, job, 700n);
  await until('its true event is in the log', () => areEnded(job));
  record();
  await until('nothing is pending', async () => (await opened.pendingOf(key.workspace.workspaceId)).length === 0);
  expect(await walletOf()).toEqual({ left: CREDIT - 700n, held: 0n, ended: 0n });
  expect(streams.sessionState.isOpen).toBe(true);
});

it('charges a job that was taken for lost while it ran, and lets in others meanwhile', async () => {
  const jobs = await start('jobs');
  await opens(jobs);
  await loadBalances();
  const [job, other] = [await admit(jobs, 1_000n), await admit(jobs, 10n)];
  const { session } = jobs.sessionState;
  const { workspaceId } = key.workspace;
  // The state that a sweeper leaves.
  await opened.redis.del(redisKeys.call(workspaceId, job.callId));
  await opened.redis.hdel(redisKeys.calls(workspaceId), job.callId);
  for (const counter of [redisKeys.wallet(workspaceId), redisKeys.key(workspaceId, key.keyId)])
    await opened.redis.hincrby(counter, 'held', -1_000);
  await opened.redis.hincrby(redisKeys.months(workspaceId), `${monthOf(job.admittedAtMs)}:held`, -1_000);
  await settle(jobs, job, 700n);
  await until('it is charged', async () => (await walletOf()).ended === 700n);
  expect(jobs.sessionState.session).toBe(session);
  expect(jobs.sessionState.isOpen).toBe(true);
  expect(await opened.callOf(other)).toMatchObject({ session: session?.token });
  await until('its event is in the log', () => eventLog.taken.length > 0);
  record();
  await until('its charge is recorded', async () => (await walletOf()).ended === 0n);
  expect(await walletOf()).toEqual({ left: CREDIT - 700n, held: 10n, ended: 0n });
});

it('hands a job from one owner to another, whose it is from then on', async () => {
  const [first, second] = [await start('first'), await start('second')];
  await opens(first);
  await opens(second);
  await loadBalances();
  const job = await admit(first, 1_000n);
  await second.holds.putBack([structuredClone(job)]);
  expect(await opened.callOf(job)).toMatchObject({ owner: 'second', session: second.sessionState.session?.token });
  expect(await walletOf()).toMatchObject({ held: 1_000n });
  await first.kill();
  await settle(second, job, 300n);
  await until('it is settled', async () => (await walletOf()).ended === 300n);
});

it('gives a hold back whose job was never made, for good', async () => {
  const jobs = await start('jobs');
  await opens(jobs);
  await loadBalances();
  const [job, other] = [await admit(jobs, 1_000n), await admit(jobs, 10n)];
  await jobs.holds.release(job);
  expect(await walletOf()).toMatchObject({ held: 10n });
  // Listed before it was released, and put back after.
  const redis = opened.redis;
  const listed = { held: [job], ended: [] };
  const late = new PutBack(redis, { owner: 'jobs', sessionState: opened.sessionState, pending: listed });
  await late.putAll({ mark: opened.mark, token: randomUUID() });
  expect(await walletOf()).toMatchObject({ held: 10n });
  expect(await opened.pendingOf(key.workspace.workspaceId)).toEqual([other.callId]);
  expect([...jobs.pending.held].map(({ callId }) => callId)).toEqual([other.callId]);
});
