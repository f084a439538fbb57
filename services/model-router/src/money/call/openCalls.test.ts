import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parseUsageRecorded, type UsageRecorded } from '@turnpike/events/usageRecorded';
import { type EndedCall, type Hold, PendingCalls } from '@turnpike/holds/call/pendingCalls';
import { Settler } from '@turnpike/holds/holds';
import { redisKeys } from '@turnpike/holds/redis/redisKeys';
import { SessionState } from '@turnpike/holds/redis/sessionState';
import { Spool } from '@turnpike/holds/spool/spool';
import { aShardHolds } from '@turnpike/holds/test/aShardHolds';
import { type OpenedRedis, openTestRedis } from '@turnpike/holds/test/openTestRedis';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { computeCharge } from '@turnpike/money/price';
import { connectRedis } from '@turnpike/redis-connection/connectRedis';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { until } from '@turnpike/test-support/until';
import { anAdmittedCall } from '../../../test/anAdmittedCall.ts';
import { type AdmittedCall, type Ending, OpenCall, OpenCalls } from './openCalls.ts';

const log = aSilentLogger();
const completed: Ending = {
  status: 'success',
  reason: 'completed',
  usage: { promptTokens: 1_000, completionTokens: 100, cachedPromptTokens: 400 },
};
/** 600 at 100, 400 cached at 50 and 100 at 400 nano-dollars. */
const CHARGE = 120_000n;

let opened: OpenedRedis;
/** Connected like the router: a decision that Redis does not make in time is rejected. */
let redis: ReturnType<typeof connectRedis>;
let dir: string;
let spool: Spool;
let sessionState: SessionState;
let pending: PendingCalls;
/** The calls that were handed to the recorder. */
let recorded: EndedCall[];
let book: Book;
beforeAll(async () => {
  opened = await openTestRedis();
  redis = connectRedis(opened.server.url, { timeoutMs: 3_000, log });
  await until('the connection stands', () => redis.status === 'ready');
});
afterAll(async () => {
  redis.disconnect();
  await opened.close();
});
beforeEach(async () => {
  dir = await aTemporaryFolder();
  spool = (await openSpool()).spool;
  sessionState = new SessionState();
  sessionState.begin(opened.session, Number.POSITIVE_INFINITY);
  sessionState.open();
  pending = new PendingCalls();
  recorded = [];
  book = aBook();
});
afterEach(async () => {
  await book.close();
  await spool.close().catch(() => {});
  await rm(dir, { recursive: true });
});

const openSpool = () => Spool.open({ dir, maxBytes: 1_000_000, log, idOf: (json) => parseUsageRecorded(json).callId });

interface Book extends Pick<OpenCalls, 'size' | 'allEnded'> {
  open(call: AdmittedCall, hold: Pick<Hold, 'admittedAtMs'>): OpenCall;
  close(): Promise<void>;
}

/** Creates a book whose holds are re-registered with those of `pending`, as in the gate. */
function aBook(disk: Pick<Spool, 'append' | 'release'> = spool, metrics = noMetrics): Book {
  const shard = aShardHolds({ redis, sessionState }, { pending, log });
  const recorder = { add: (ended: EndedCall) => void recorded.push(ended) };
  const settler = new Settler({ shardOf: () => shard, pending, recorder, spool: disk, log });
  const calls = new OpenCalls({ holds: settler, metrics, log });
  return {
    open(call, hold) {
      pending.add(hold as Hold);
      return new OpenCall(call, calls, hold);
    },
    get size() {
      return calls.size;
    },
    allEnded: () => calls.allEnded(),
    close: () => settler.close(),
  };
}

/** Returns the events that the next process would find in the spool. */
async function spooled(): Promise<UsageRecorded[]> {
  const { spool: next, left } = await openSpool();
  await next.close();
  return left.map(({ json }) => parseUsageRecorded(json));
}

it('writes the event to the router’s disk before the call counts as ended, and settles it', async () => {
  const { call, hold } = await anAdmittedCall(opened);
  const open = book.open(call, hold);
  expect(await open.end(completed, 'small-chat@engine-1')).toBe(true);
  const [event] = await spooled();
  expect(event).toMatchObject({
    callId: call.callId,
    keyId: call.keyId,
    workspaceId: call.workspaceId,
    model: 'small-chat@engine-1',
    canonicalModel: 'small-chat',
    priceVersion: 7,
    status: 'success',
    promptTokens: 1_000,
    cachedPromptTokens: 400,
    completionTokens: 100,
    chargeNanoUsd: CHARGE,
    formulaNanoUsd: CHARGE,
    startedAtMs: hold.admittedAtMs,
  });
  expect(event?.endedAtMs).toBeGreaterThanOrEqual(hold.admittedAtMs);
  await until('it is settled', async () => (await opened.walletOf(call.workspaceId)).ended === CHARGE);
  expect((await opened.walletOf(call.workspaceId)).held).toBe(0n);
  expect(recorded).toMatchObject([{ event }]);
});

it('keeps a call among those that would be put back, as held and then as ended, until it is recorded', async () => {
  const { call, hold } = await anAdmittedCall(opened);
  const open = book.open(call, hold);
  expect([...pending.held]).toEqual([hold]);
  await open.end(completed);
  expect([...pending.held]).toEqual([]);
  expect([...pending.ended].map(({ event }) => event.callId)).toEqual([call.callId]);
  await book.close();
  expect(pending.isEmpty).toBe(false);
});

it('charges the whole prompt at the prompt’s price where a model is not cache-capable, as its client is shown', async () => {
  const { call, hold } = await anAdmittedCall(opened);
  const prices = { ...call.model.prices, inputCacheRead: 0n };
  const model = { ...call.model, prices, isCacheCapable: false };
  await book.open({ ...call, model }, hold).end(completed);
  const [event] = await spooled();
  const { promptTokens, completionTokens } = { promptTokens: 1_000, completionTokens: 100 };
  const formulaNanoUsd = computeCharge({ promptTokens, cachedPromptTokens: 0, completionTokens, images: 0 }, prices);
  expect(event).toMatchObject({ cachedPromptTokens: 0, formulaNanoUsd });
});

it('ends a call once, however often and however differently it is told', async () => {
  const { call, hold } = await anAdmittedCall(opened);
  const open = book.open(call, hold);
  const endings: Ending[] = [completed, { status: 'failure', reason: 'engine_reset' }, completed];
  expect(await Promise.all(endings.map((ending) => open.end(ending)))).toEqual([true, true, true]);
  expect(await spooled()).toHaveLength(1);
  await book.close();
  expect(await opened.walletOf(call.workspaceId)).toMatchObject({ ended: CHARGE, held: 0n });
});

it.each<[string, Ending]>([
  ['failed', { status: 'failure', reason: 'engine_reset' }],
  ['ended without a count', { status: 'unknown', reason: 'engine_gave_no_count' }],
])('charges nothing and counts no token for a call that %s', async (_case, ending) => {
  const { call, hold } = await anAdmittedCall(opened);
  await book.open(call, hold).end(ending);
  expect(await spooled()).toMatchObject([
    { status: ending.status, reason: ending.reason, chargeNanoUsd: 0n, promptTokens: 0, completionTokens: 0 },
  ]);
  await book.close();
  expect(await opened.walletOf(call.workspaceId)).toMatchObject({ ended: 0n, held: 0n });
});

it.each<[string, string, string[]]>([
  ['alerts an operator to a call that ended without a count', 'client_left_before_first_count', ['unknown_ending']],
  ['alerts nobody when a client left before there was anything to count', 'client_left_before_first_event', []],
])('%s', async (_what, reason, expected) => {
  const alerts: string[] = [];
  const alerting = aBook(spool, { ...noMetrics, alerted: (kind) => alerts.push(kind) });
  const { call, hold } = await anAdmittedCall(opened);
  await alerting.open(call, hold).end({ status: 'unknown', reason });
  await alerting.close();
  expect(alerts).toEqual(expected);
  expect(await spooled()).toMatchObject([{ status: 'unknown', reason, chargeNanoUsd: 0n }]);
});

it('says when all calls have ended, which is once their ends are on disk', async () => {
  const writes = Promise.withResolvers<void>();
  const slow = aBook({ append: (id, json) => writes.promise.then(() => spool.append(id, json)), release: () => {} });
  await slow.allEnded();
  const { call, hold } = await anAdmittedCall(opened);
  const open = slow.open(call, hold);
  let haveAllEnded = false;
  const ended = slow.allEnded().then(() => {
    haveAllEnded = true;
  });
  const ending = open.end(completed);
  await pause(50);
  expect(haveAllEnded).toBe(false);
  writes.resolve();
  expect(await ending).toBe(true);
  await ended;
  await slow.close();
});

it('charges no more than the hold, and records what the formula gave', async () => {
  const { call, hold } = await anAdmittedCall(opened, { holdNanoUsd: 5_000n });
  await book.open(call, hold).end(completed);
  expect(await spooled()).toMatchObject([{ chargeNanoUsd: 5_000n, formulaNanoUsd: CHARGE, holdNanoUsd: 5_000n }]);
});

it('takes no more of the key’s tokens per minute than the admission bounded, and raises an alert', async () => {
  const { call, hold } = await anAdmittedCall(opened);
  const alerts: string[] = [];
  const metrics = { ...noMetrics, alerted: (kind: string) => void alerts.push(kind) };
  const usage = { promptTokens: 2_000_000_000, completionTokens: 2_000_000_000, cachedPromptTokens: 0 };
  await aBook(spool, metrics).open(call, hold).end({ status: 'success', reason: 'completed', usage });
  await until('it is settled', async () => (await opened.walletOf(call.workspaceId)).held === 0n);
  const level = await opened.redis.hget(redisKeys.rates(call.workspaceId, call.keyId), 'level');
  expect(Number(level)).toBeGreaterThanOrEqual(hold.tpm - call.maxTokens);
  expect(await spooled()).toMatchObject([{ promptTokens: 2_000_000_000, completionTokens: 2_000_000_000 }]);
  expect(alerts).toEqual(['count_above_bound', 'charge_above_hold']);
});

it('settles a call later that ended while Redis was away', async () => {
  const { call, hold } = await anAdmittedCall(opened);
  const open = book.open(call, hold);
  opened.server.freeze();
  expect(await open.end(completed)).toBe(true);
  expect(await spooled()).toHaveLength(1);
  opened.server.thaw();
  await until('it is settled', async () => (await opened.walletOf(call.workspaceId)).ended === CHARGE);
  expect((await opened.walletOf(call.workspaceId)).held).toBe(0n);
});

/** A disk that is full until `hasRoom`. */
function aFullDisk() {
  const taken: string[] = [];
  const released: string[] = [];
  return {
    hasRoom: false,
    taken,
    released,
    release: (id: string) => void released.push(id),
    async append(_id: string, json: string) {
      if (!this.hasRoom) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      taken.push(json);
    },
  };
}

describe('when the disk refuses the event', () => {
  it('keeps it in Redis, and brings it to the disk once that takes it', async () => {
    const disk = aFullDisk();
    const onFullDisk = aBook(disk);
    const { call, hold } = await anAdmittedCall(opened);
    expect(await onFullDisk.open(call, hold).end(completed)).toBe(true);
    const kept = await opened.redis.hget(redisKeys.call(call.workspaceId, call.callId), 'event');
    expect(parseUsageRecorded(kept ?? '')).toMatchObject({ status: 'success', chargeNanoUsd: CHARGE });
    disk.hasRoom = true;
    await until('the disk has it', () => disk.taken.length > 0);
    expect(disk.taken).toEqual([kept]);
    expect(recorded).toHaveLength(1);
    await onFullDisk.close();
  });

  it('keeps it on no disk once it is recorded', async () => {
    const disk = aFullDisk();
    const onFullDisk = aBook(disk);
    const { call, hold } = await anAdmittedCall(opened);
    await onFullDisk.open(call, hold).end(completed);
    pending.remove(call.callId);
    disk.hasRoom = true;
    await onFullDisk.close();
    expect(disk.released).toEqual(disk.taken.map((json) => parseUsageRecorded(json).callId));
  });

  it('and Redis does not answer, waits with the end of the call until Redis has it, and charges once', async () => {
    const disk = aFullDisk();
    const onFullDisk = aBook(disk);
    const { call, hold } = await anAdmittedCall(opened);
    opened.server.freeze();
    let isOver = false;
    const ending = onFullDisk.open(call, hold).end(completed);
    void ending.then(() => {
      isOver = true;
    });
    await until('the first try is given up', () => onFullDisk.size === 0);
    expect(isOver).toBe(false);
    opened.server.thaw();
    expect(await ending).toBe(true);
    const kept = await opened.redis.hget(redisKeys.call(call.workspaceId, call.callId), 'event');
    expect(parseUsageRecorded(kept ?? '')).toMatchObject({ status: 'success', chargeNanoUsd: CHARGE });
    expect(await opened.walletOf(call.workspaceId)).toMatchObject({ ended: CHARGE, held: 0n });
    await onFullDisk.close();
  });
});

describe('without a session', () => {
  it('settles no call, and ends it all the same; the next one brings it', async () => {
    const { call, hold } = await anAdmittedCall(opened);
    const open = book.open(call, hold);
    sessionState.end();
    expect(await open.end(completed)).toBe(true);
    expect(await spooled()).toHaveLength(1);
    expect((await opened.walletOf(call.workspaceId)).ended).toBe(0n);
    sessionState.begin({ mark: opened.mark, token: 'newer' }, Number.POSITIVE_INFINITY);
    await until('it is settled', async () => (await opened.walletOf(call.workspaceId)).ended === CHARGE);
  });

  it('tries on no more once the call is recorded, and in the sums', async () => {
    const { call, hold } = await anAdmittedCall(opened);
    const open = book.open(call, hold);
    sessionState.end();
    await open.end(completed);
    pending.remove(call.callId);
    await book.close();
    expect((await opened.walletOf(call.workspaceId)).held).toBe(call.holdNanoUsd);
  });
});

it('puts all calls back under another session when Redis has lost the record of one that must be pending', async () => {
  const { call, hold } = await anAdmittedCall(opened);
  const open = book.open(call, hold);
  let looks = 0;
  sessionState.watch(() => {
    looks += 1;
  });
  await opened.redis.del(redisKeys.call(call.workspaceId, call.callId));
  expect(await open.end(completed)).toBe(true);
  await until('it is noticed', () => looks > 0);
  expect([sessionState.isOpen, sessionState.session]).toEqual([false, undefined]);
  expect([...pending.ended].map(({ event }) => event.callId)).toEqual([call.callId]);
});
