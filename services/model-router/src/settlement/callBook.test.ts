import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { parseUsageRecorded, type UsageRecorded } from '@turnpike/events/usageRecorded';
import { computeCharge } from '@turnpike/money/price';
import { anAdmittedCall } from '../../test/anAdmittedCall.ts';
import { aSilentLogger } from '../../test/aSilentLogger.ts';
import { aTemporaryFolder } from '../../test/aTemporaryFolder.ts';
import { noMetrics } from '../../test/noMetrics.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { until } from '../../test/until.ts';
import { connectRedis } from '../admission/connectRedis.ts';
import { createCallEndings } from '../admission/endCall.ts';
import { redisKeys } from '../admission/redisKeys.ts';
import { type CallBook, createCallBook, type Ending } from './callBook.ts';
import { Spool } from './spool.ts';

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
let book: CallBook;
beforeAll(async () => {
  opened = await openTestRedis();
  redis = connectRedis(opened.server.url, { timeoutMs: 250, log });
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

const aBook = (leaseMs = LEASE_MS): CallBook =>
  createCallBook({ metrics: noMetrics, endings: createCallEndings(redis), spool, log, leaseMs });

async function spooled(): Promise<UsageRecorded[]> {
  const batch = await spool.readBatch(100);
  return (batch?.events ?? []).map(parseUsageRecorded);
}

it('writes the event to the router’s disk before the call counts as ended, and settles it', async () => {
  const { call, admittedAtMs } = await anAdmittedCall(opened);
  const open = book.open(call, admittedAtMs);
  open.target = 'small-chat@engine-1';
  expect(await open.end(completed)).toBe(true);
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
    startedAtMs: admittedAtMs,
  });
  expect(event?.endedAtMs).toBeGreaterThanOrEqual(admittedAtMs);
  await until('it is settled', async () => (await opened.walletOf(call.workspaceId)).spent === CHARGE);
  expect((await opened.walletOf(call.workspaceId)).held).toBe(0n);
});

it('charges the whole prompt at the prompt’s price where a model is not cache-capable, as its client is shown', async () => {
  const { call, admittedAtMs } = await anAdmittedCall(opened);
  const prices = { ...call.model.prices, inputCacheRead: 0n };
  const model = { ...call.model, prices, isCacheCapable: false };
  await book.open({ ...call, model }, admittedAtMs).end(completed);
  const [event] = await spooled();
  const { promptTokens, completionTokens } = { promptTokens: 1_000, completionTokens: 100 };
  const formulaNanoUsd = computeCharge({ promptTokens, cachedPromptTokens: 0, completionTokens, images: 0 }, prices);
  expect(event).toMatchObject({ cachedPromptTokens: 0, formulaNanoUsd });
});

it('ends a call once, however often and however differently it is told', async () => {
  const { call, admittedAtMs } = await anAdmittedCall(opened);
  const open = book.open(call, admittedAtMs);
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
  const { call, admittedAtMs } = await anAdmittedCall(opened);
  await book.open(call, admittedAtMs).end(ending);
  expect(await spooled()).toMatchObject([
    { status: ending.status, reason: ending.reason, chargeNanoUsd: 0n, promptTokens: 0, completionTokens: 0 },
  ]);
  await book.close();
  expect(await opened.walletOf(call.workspaceId)).toMatchObject({ spent: 0n, held: 0n });
});

it('charges no more than the hold, and records what the formula gave', async () => {
  const { call, admittedAtMs } = await anAdmittedCall(opened, { holdNanoUsd: 5_000n });
  await book.open(call, admittedAtMs).end(completed);
  expect(await spooled()).toMatchObject([{ chargeNanoUsd: 5_000n, formulaNanoUsd: CHARGE, holdNanoUsd: 5_000n }]);
});

it('keeps the lease of an open call alive', async () => {
  const short = aBook(200);
  const { call, admittedAtMs } = await anAdmittedCall(opened, { leaseMs: 200 });
  const open = short.open(call, admittedAtMs);
  const leaseEnd = async () => Number(await opened.redis.zscore(redisKeys.calls(call.workspaceId), call.callId));
  const first = await leaseEnd();
  await until('the lease is renewed twice', async () => (await leaseEnd()) > first + 75);
  expect(await open.end(completed)).toBe(true);
  await short.close();
});

it('tells who streams when the hold was swept, and does not end the call as if it were whole', async () => {
  const short = aBook(200);
  const { call, admittedAtMs } = await anAdmittedCall(opened);
  const open = short.open(call, admittedAtMs);
  const lost = new Promise<void>((resolve) => {
    open.onLeaseLost = resolve;
  });
  await opened.redis.zadd(redisKeys.calls(call.workspaceId), 1, call.callId);
  await createCallEndings(opened.redis).sweep(call, LEASE_MS);
  await lost;
  expect(await open.end(completed)).toBe(false);
  expect(await spooled()).toEqual([]);
  expect(short.openCalls).toBe(0);
  await short.close();
});

it('notices a lease that ended while the router was frozen', async () => {
  const { call, admittedAtMs } = await anAdmittedCall(opened, { leaseMs: -1 });
  const open = book.open(call, admittedAtMs);
  await createCallEndings(opened.redis).sweep(call, LEASE_MS);
  const thawedAt = performance.now() + LEASE_MS + 1;
  const clock = jest.spyOn(performance, 'now').mockReturnValue(thawedAt);
  expect(await open.end(completed)).toBe(false);
  clock.mockRestore();
  expect(await opened.walletOf(call.workspaceId)).toMatchObject({ spent: 0n, held: 0n });
});

it('settles a call later that ended while Redis was away', async () => {
  const { call, admittedAtMs } = await anAdmittedCall(opened);
  const open = book.open(call, admittedAtMs);
  opened.server.freeze();
  expect(await open.end(completed)).toBe(true);
  expect(await spooled()).toHaveLength(1);
  opened.server.thaw();
  await until('it is settled', async () => (await opened.walletOf(call.workspaceId)).spent === CHARGE);
  expect((await opened.walletOf(call.workspaceId)).held).toBe(0n);
});

it('keeps the event in Redis when the disk refuses it', async () => {
  const { call, admittedAtMs } = await anAdmittedCall(opened);
  const open = book.open(call, admittedAtMs);
  await spool.close();
  expect(await open.end(completed)).toBe(true);
  const kept = await opened.redis.hget(redisKeys.call(call.workspaceId, call.callId), 'event');
  expect(parseUsageRecorded(kept ?? '')).toMatchObject({ status: 'success', chargeNanoUsd: CHARGE });
});
