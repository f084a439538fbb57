import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { parseUsageRecorded, type UsageRecorded } from '@turnpike/events/usageRecorded';
import { computeCharge } from '@turnpike/money/price';
import { until } from '@turnpike/test-support/until';
import { anAdmittedCall } from '../../../test/anAdmittedCall.ts';
import { aSilentLogger } from '../../../test/aSilentLogger.ts';
import { aTemporaryFolder } from '../../../test/aTemporaryFolder.ts';
import { noMetrics } from '../../../test/noMetrics.ts';
import { type OpenedRedis, openTestRedis } from '../../../test/openTestRedis.ts';
import { connectRedis } from '../redis/connectRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { Spool } from '../spool/spool.ts';
import { createCallEndings } from './endCall.ts';
import { HeldCalls } from './heldCalls.ts';
import { createOpenCalls, type OpenCalls } from './openCalls.ts';
import type { Ending } from './toEvent.ts';

const LEASE_MS = 60_000;
const log = aSilentLogger();
const completed: Ending = {
  status: 'success',
  reason: 'completed',
  usage: { promptTokens: 1_000, completionTokens: 100, cachedPromptTokens: 400 },
};
/** 600 at 100, 400 cached at 50 and 100 at 400 nano-dollars. */
const CHARGE = 120_000n;

let opened: OpenedRedis;
/** As the router itself is connected: what cannot be decided in time is rejected. */
let redis: ReturnType<typeof connectRedis>;
let dir: string;
let spool: Spool;
let book: OpenCalls;
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
  spool = await Spool.open({ dir, maxBytes: 1_000_000, log });
  book = aBook();
});
afterEach(async () => {
  await book.close();
  await spool.close().catch(() => {});
  await rm(dir, { recursive: true });
});

const aBook = (leaseMs = LEASE_MS, disk: Pick<Spool, 'append'> = spool, metrics = noMetrics): OpenCalls =>
  createOpenCalls({
    metrics,
    endings: createCallEndings(redis, opened),
    heldCalls: new HeldCalls(),
    epoch: opened.epoch,
    spool: disk,
    log,
    leaseMs,
  });

async function spooled(): Promise<UsageRecorded[]> {
  const batch = await spool.readBatch(100);
  return (batch?.events ?? []).map(parseUsageRecorded);
}

it('writes the event to the router’s disk before the call counts as ended, and settles it', async () => {
  const { call, terms } = await anAdmittedCall(opened);
  const open = book.open(call, terms);
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
    startedAtMs: terms.admittedAtMs,
  });
  expect(event?.endedAtMs).toBeGreaterThanOrEqual(terms.admittedAtMs);
  await until('it is settled', async () => (await opened.walletOf(call.workspaceId)).spent === CHARGE);
  expect((await opened.walletOf(call.workspaceId)).held).toBe(0n);
});

it('charges the whole prompt at the prompt’s price where a model is not cache-capable, as its client is shown', async () => {
  const { call, terms } = await anAdmittedCall(opened);
  const prices = { ...call.model.prices, inputCacheRead: 0n };
  const model = { ...call.model, prices, isCacheCapable: false };
  await book.open({ ...call, model }, terms).end(completed);
  const [event] = await spooled();
  const { promptTokens, completionTokens } = { promptTokens: 1_000, completionTokens: 100 };
  const formulaNanoUsd = computeCharge({ promptTokens, cachedPromptTokens: 0, completionTokens, images: 0 }, prices);
  expect(event).toMatchObject({ cachedPromptTokens: 0, formulaNanoUsd });
});

it('ends a call once, however often and however differently it is told', async () => {
  const { call, terms } = await anAdmittedCall(opened);
  const open = book.open(call, terms);
  const endings: Ending[] = [completed, { status: 'failure', reason: 'engine_reset' }, completed];
  expect(await Promise.all(endings.map((ending) => open.end(ending)))).toEqual([true, true, true]);
  expect(await spooled()).toHaveLength(1);
  await book.close();
  expect(await opened.walletOf(call.workspaceId)).toMatchObject({ spent: CHARGE, held: 0n });
});

it.each<[string, Ending]>([
  ['failed', { status: 'failure', reason: 'engine_reset' }],
  ['ended without a count', { status: 'unknown', reason: 'engine_gave_no_count' }],
])('charges nothing and counts no token for a call that %s', async (_case, ending) => {
  const { call, terms } = await anAdmittedCall(opened);
  await book.open(call, terms).end(ending);
  expect(await spooled()).toMatchObject([
    { status: ending.status, reason: ending.reason, chargeNanoUsd: 0n, promptTokens: 0, completionTokens: 0 },
  ]);
  await book.close();
  expect(await opened.walletOf(call.workspaceId)).toMatchObject({ spent: 0n, held: 0n });
});

it.each<[string, string, string[]]>([
  ['alerts an operator to a call that ended without a count', 'client_left_before_first_count', ['unknown_ending']],
  ['alerts nobody when a client left before there was anything to count', 'client_left_before_first_event', []],
])('%s', async (_what, reason, expected) => {
  const alerts: string[] = [];
  const alerting = aBook(LEASE_MS, spool, { ...noMetrics, alerted: (kind) => alerts.push(kind) });
  const { call, terms } = await anAdmittedCall(opened);
  await alerting.open(call, terms).end({ status: 'unknown', reason });
  await alerting.close();
  expect(alerts).toEqual(expected);
  expect(await spooled()).toMatchObject([{ status: 'unknown', reason, chargeNanoUsd: 0n }]);
});

it('charges no more than the hold, and records what the formula gave', async () => {
  const { call, terms } = await anAdmittedCall(opened, { holdNanoUsd: 5_000n });
  await book.open(call, terms).end(completed);
  expect(await spooled()).toMatchObject([{ chargeNanoUsd: 5_000n, formulaNanoUsd: CHARGE, holdNanoUsd: 5_000n }]);
});

it('keeps the lease of an open call alive', async () => {
  const short = aBook(200);
  const { call, terms } = await anAdmittedCall(opened, { leaseMs: 200 });
  const open = short.open(call, terms);
  const leaseEnd = async () => Number(await opened.redis.zscore(redisKeys.calls(call.workspaceId), call.callId));
  const first = await leaseEnd();
  await until('the lease is renewed twice', async () => (await leaseEnd()) > first + 75);
  expect(await open.end(completed)).toBe(true);
  await short.close();
});

it('tells who streams when the hold was swept, and does not end the call as if it were whole', async () => {
  const short = aBook(200);
  const { call, terms } = await anAdmittedCall(opened, { leaseMs: -1 });
  // Swept before the book could renew the lease, which is what the sweeper waits for.
  expect(await createCallEndings(opened.redis, opened).sweep(call, LEASE_MS)).toMatchObject({ state: 'swept' });
  const open = short.open(call, terms);
  await until('it is told', () => open.leaseLost.aborted);
  expect(await open.end(completed)).toBe(false);
  expect(await spooled()).toEqual([]);
  expect(short.size).toBe(0);
  await short.close();
});

it('notices a lease that ended while the router was frozen', async () => {
  const { call, terms } = await anAdmittedCall(opened, { leaseMs: -1 });
  const open = book.open(call, terms);
  await createCallEndings(opened.redis, opened).sweep(call, LEASE_MS);
  const thawedAt = performance.now() + LEASE_MS + 1;
  const clock = jest.spyOn(performance, 'now').mockReturnValue(thawedAt);
  expect(await open.end(completed)).toBe(false);
  clock.mockRestore();
  expect(await opened.walletOf(call.workspaceId)).toMatchObject({ spent: 0n, held: 0n });
});

it('settles a call later that ended while Redis was away', async () => {
  const { call, terms } = await anAdmittedCall(opened);
  const open = book.open(call, terms);
  opened.server.freeze();
  expect(await open.end(completed)).toBe(true);
  expect(await spooled()).toHaveLength(1);
  opened.server.thaw();
  await until('it is settled', async () => (await opened.walletOf(call.workspaceId)).spent === CHARGE);
  expect((await opened.walletOf(call.workspaceId)).held).toBe(0n);
});

/** A disk that is full until `hasRoom`. */
function aFullDisk() {
  const taken: string[] = [];
  return {
    hasRoom: false,
    taken,
    async append(json: string) {
      if (!this.hasRoom) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      taken.push(json);
    },
  };
}

describe('when the disk refuses the event', () => {
  it('keeps it in Redis, and brings it to the disk once that takes it', async () => {
    const disk = aFullDisk();
    const onFullDisk = aBook(LEASE_MS, disk);
    const { call, terms } = await anAdmittedCall(opened);
    expect(await onFullDisk.open(call, terms).end(completed)).toBe(true);
    const kept = await opened.redis.hget(redisKeys.call(call.workspaceId, call.callId), 'event');
    expect(parseUsageRecorded(kept ?? '')).toMatchObject({ status: 'success', chargeNanoUsd: CHARGE });
    disk.hasRoom = true;
    await until('the disk has it', () => disk.taken.length > 0);
    expect(disk.taken).toEqual([kept]);
    await onFullDisk.close();
  });

  it('and Redis does not answer, waits with the end of the call until Redis has it, and charges once', async () => {
    const disk = aFullDisk();
    const onFullDisk = aBook(LEASE_MS, disk);
    const { call, terms } = await anAdmittedCall(opened);
    opened.server.freeze();
    let isOver = false;
    const ending = onFullDisk.open(call, terms).end(completed);
    void ending.then(() => {
      isOver = true;
    });
    await until('the first try is given up', () => onFullDisk.size === 0);
    expect(isOver).toBe(false);
    opened.server.thaw();
    expect(await ending).toBe(true);
    const kept = await opened.redis.hget(redisKeys.call(call.workspaceId, call.callId), 'event');
    expect(parseUsageRecorded(kept ?? '')).toMatchObject({ status: 'success', chargeNanoUsd: CHARGE });
    expect(await opened.walletOf(call.workspaceId)).toMatchObject({ spent: CHARGE, held: 0n });
    await onFullDisk.close();
  });
});

describe('while the balances are rebuilt', () => {
  it('opens no call that was admitted into the old ones, and gives its hold back', async () => {
    const { call, terms } = await anAdmittedCall(opened);
    expect(() => book.open(call, { ...terms, epoch: terms.epoch - 1 })).toThrow();
    await until('the hold is released', async () => (await opened.walletOf(call.workspaceId)).held === 0n);
    expect(book.size).toBe(0);
  });

  it('settles no call until they are in force, and ends it all the same', async () => {
    const { call, terms } = await anAdmittedCall(opened);
    const open = book.open(call, terms);
    const { stamp } = opened.epoch;
    opened.epoch.close();
    expect(await open.end(completed)).toBe(true);
    expect(await spooled()).toHaveLength(1);
    expect((await opened.walletOf(call.workspaceId)).spent).toBe(0n);
    opened.epoch.open(stamp);
    await until('it is settled', async () => (await opened.walletOf(call.workspaceId)).spent === CHARGE);
  });
});

it('has Redis looked at when it does not know a call that is held', async () => {
  const { call, terms } = await anAdmittedCall(opened);
  const open = book.open(call, terms);
  const { stamp } = opened.epoch;
  await opened.redis.del(redisKeys.call(call.workspaceId, call.callId));
  expect(await open.end(completed)).toBe(true);
  await until('it is noticed', () => opened.epoch.missesCalls);
  expect(opened.epoch.isOpen).toBe(false);
  opened.epoch.open({ ...stamp, number: stamp.number + 1 });
  opened.epoch.open(stamp);
});
