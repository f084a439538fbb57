import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { anAdmittedCall } from '../../../test/anAdmittedCall.ts';
import { listenAnywhere } from '../../../test/listenAnywhere.ts';
import { type OpenedRedis, openTestRedis } from '../../../test/openTestRedis.ts';
import { createBalanceLoader } from '../balances/loadBalances.ts';
import { readCounters } from '../balances/readCounters.ts';
import { createCallEndings } from '../call/endCall.ts';
import { type AdmittedCall, toEvent } from '../call/toEvent.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { createAssertCall } from './assertCall.ts';

// What a recovery makes of the records of calls from before it: each is counted as admitted once, as its row is, or will be.

const LEASE_MS = 60_000;
const OVER_MS = -1;
const KEPT = { isSafe: false, keepMs: OVER_MS };
/** Rows of other calls. */
const ROWS = 5;

/** How a call ended that is charged. */
const anEnding = {
  ending: {
    status: 'success',
    reason: 'completed',
    usage: { promptTokens: 100, completionTokens: 50, cachedPromptTokens: 0 },
  },
  target: 'target-1',
} as const;

let opened: OpenedRedis;
let ledger: Server;
let ledgerUrl: string;
/** Ids of calls that the ledger has rows of. */
const rows = new Set<string>();
let asked: string[];
/** Done once, after the ledger was asked and before Redis hears of it. */
let meanwhile: () => Promise<void> = async () => {};
beforeAll(async () => {
  opened = await openTestRedis();
  ledger = createServer(async (req, res) => {
    const { calls } = (await json(req)) as { calls: string[] };
    asked = calls;
    const counts = { requests: ROWS + rows.size, recorded: calls.filter((callId) => rows.has(callId)) };
    const sums = { credit_seq: 1, credited_nano_usd: '1000000000', spent_nano_usd: '0', months: {}, keys: {} };
    const pending = meanwhile;
    meanwhile = async () => {};
    await pending();
    res.end(JSON.stringify({ ...sums, ...counts }));
  });
  ledgerUrl = await listenAnywhere(ledger);
});
beforeEach(() => {
  rows.clear();
  opened.epoch.open({ ...opened.epoch.stamp, number: 1 });
});
afterAll(async () => {
  ledger.close();
  await opened.close();
});

/** The next epoch, in the same Redis, and what a router does in it. */
async function raiseEpoch() {
  const { redis, epoch } = opened;
  const stamp = { ...epoch.stamp, number: 2 };
  const balances = createBalanceLoader({ redis, ledgerUrl, internalHeaders: () => ({}), epoch, timeoutMs: 20_000 });
  epoch.open(stamp);
  await redis.set(redisKeys.epoch, stamp.number);
  return {
    endings: createCallEndings(redis, { epoch }),
    balances,
    assertCall: createAssertCall(redis, { routerId: 'router-1', leaseMs: LEASE_MS }),
    stamp,
  };
}

const sweepBefore = ({ call }: { call: AdmittedCall }) => createCallEndings(opened.redis, opened).sweep(call, OVER_MS);

async function countOf({ workspaceId }: AdmittedCall) {
  const { admittedCalls, uncertainCalls, calls } = await readCounters(
    { ...opened, balances: { load: async () => true } },
    { workspaceId, after: 0 },
  );
  return { admittedCalls, uncertainCalls, open: calls.map(({ state }) => state) };
}

it('counts a call that is still held with its row, where the ledger has it, and does not count it again when it is swept', async () => {
  const { call } = await anAdmittedCall(opened, { leaseMs: OVER_MS });
  rows.add(call.callId);
  const { balances, endings } = await raiseEpoch();
  await balances.load(call.workspaceId);
  expect(asked).toEqual([call.callId]);
  const counted = { admittedCalls: ROWS + 1, uncertainCalls: 0, open: [] };
  expect(await countOf(call)).toEqual(counted);
  expect(await endings.sweep(call, LEASE_MS)).toMatchObject({ state: 'swept' });
  // Its row may have been charged, so it is no call that waits for its event.
  expect(await countOf(call)).toEqual(counted);
});

it('counts a held call without a row when it is swept, once', async () => {
  const { call } = await anAdmittedCall(opened, { leaseMs: OVER_MS });
  const { balances, endings } = await raiseEpoch();
  await balances.load(call.workspaceId);
  expect(await countOf(call)).toEqual({ admittedCalls: ROWS, uncertainCalls: 0, open: [] });
  for (const _turn of [1, 2]) {
    await endings.sweep(call, OVER_MS);
    expect(await countOf(call)).toEqual({ admittedCalls: ROWS + 1, uncertainCalls: 0, open: ['swept'] });
  }
});

it('counts a call that was swept before, and whose event the ledger has not read, from the start', async () => {
  const before = await anAdmittedCall(opened, { leaseMs: OVER_MS });
  const { call } = before;
  await sweepBefore(before);
  const { balances, endings } = await raiseEpoch();
  await balances.load(call.workspaceId);
  const counted = { admittedCalls: ROWS + 1, uncertainCalls: 0, open: ['swept'] };
  expect(await countOf(call)).toEqual(counted);
  await endings.sweep(call, LEASE_MS);
  expect(await countOf(call)).toEqual(counted);
});

it.each<[string, { isRecorded: boolean; isForgotten: boolean }, number]>([
  ['that nobody has a row of', { isRecorded: false, isForgotten: false }, 1],
  ['whose row is counted already', { isRecorded: true, isForgotten: false }, 0],
  ['that Redis has forgotten', { isRecorded: false, isForgotten: true }, 1],
  ['that Redis has forgotten and whose row is counted already', { isRecorded: true, isForgotten: true }, 0],
])('counts a call %s once when its router puts it back', async (_which, { isRecorded, isForgotten }, more) => {
  const held = await anAdmittedCall(opened);
  const { callId, workspaceId } = held.call;
  if (isRecorded) rows.add(callId);
  const { balances, assertCall, stamp } = await raiseEpoch();
  if (isForgotten) await opened.redis.del(redisKeys.call(workspaceId, callId), redisKeys.calls(workspaceId));
  const recorded = await balances.loadFor(workspaceId, stamp, [callId]);
  for (const _turn of [1, 2]) await assertCall(held, stamp, recorded);
  const admittedCalls = ROWS + more + (isRecorded ? 1 : 0);
  expect(await countOf(held.call)).toEqual({ admittedCalls, uncertainCalls: 0, open: ['held'] });
});

it.each<[string, { isAskedFirst: boolean }, number]>([
  ['as they had none of it yet', { isAskedFirst: false }, ROWS + 1],
  ['as they had one of it already', { isAskedFirst: true }, ROWS + 2],
])(
  'notes as uncertain a call that Redis has forgotten where the balances came by another router and are of another instant, %s',
  async (_why, { isAskedFirst }, admittedCalls) => {
    const held = await anAdmittedCall(opened);
    const { callId, workspaceId } = held.call;
    const { balances, assertCall, stamp } = await raiseEpoch();
    await opened.redis.del(redisKeys.call(workspaceId, callId), redisKeys.calls(workspaceId));
    const rowComes = async () => {
      rows.add(callId);
    };
    const othersLoad = async () => {
      await balances.load(workspaceId);
    };
    if (isAskedFirst) meanwhile = () => rowComes().then(othersLoad);
    else await othersLoad().then(rowComes);
    const recorded = await balances.loadFor(workspaceId, stamp, [callId]);
    for (const _turn of [1, 2]) await assertCall(held, stamp, recorded);
    expect(await countOf(held.call)).toEqual({ admittedCalls, uncertainCalls: 1, open: ['held'] });
  },
);

it('charges a settled call that the ledger has no row of, as its event lies in the dead letters: wallet, key and month, once', async () => {
  const { call, terms } = await anAdmittedCall(opened, { leaseMs: OVER_MS });
  const { workspaceId, keyId } = call;
  const event = toEvent(call, { ...anEnding, admittedAtMs: terms.admittedAtMs, endedAtMs: terms.admittedAtMs });
  const json = toUsageRecordedJson(event);
  expect(event.chargeNanoUsd).toBeGreaterThan(0n);
  await createCallEndings(opened.redis, opened).settle(event, json, KEPT);
  const { balances, endings } = await raiseEpoch();
  const month = new Date(terms.admittedAtMs).toISOString().slice(0, 7);
  const expectCharged = async () => {
    expect((await opened.walletOf(workspaceId)).spent).toBe(event.chargeNanoUsd);
    expect(await opened.keyOf(workspaceId, keyId)).toEqual({ spent: event.chargeNanoUsd, held: 0n });
    expect((await opened.monthsOf(workspaceId))[`${month}:spent`]).toBe(event.chargeNanoUsd);
    expect(await opened.redis.smembers(redisKeys.keys(workspaceId))).toEqual([keyId]);
  };
  await balances.load(workspaceId);
  await expectCharged();
  expect(await countOf(call)).toEqual({ admittedCalls: ROWS + 1, uncertainCalls: 0, open: ['settled'] });
  // What comes of it later was counted then: a sweeper sends its event again, and its spool's way is acknowledged.
  await balances.load(workspaceId);
  expect(await endings.sweep(call, OVER_MS)).toMatchObject({ state: 'settled', eventJson: json });
  await endings.settle(event, json, { isSafe: true, keepMs: 0 });
  await expectCharged();
});

it('charges it once as well where a damaged record beside it kept the balances from being loaded at first', async () => {
  const { call, terms } = await anAdmittedCall(opened, { leaseMs: OVER_MS });
  const { workspaceId, keyId } = call;
  const event = toEvent(call, { ...anEnding, admittedAtMs: terms.admittedAtMs, endedAtMs: terms.admittedAtMs });
  await createCallEndings(opened.redis, opened).settle(event, toUsageRecordedJson(event), KEPT);
  const damaged = randomUUID();
  await opened.redis.set(redisKeys.call(workspaceId, damaged), 'no record');
  await opened.redis.zadd(redisKeys.calls(workspaceId), Number.MAX_SAFE_INTEGER, damaged);
  const { balances } = await raiseEpoch();
  for (const _turn of [1, 2]) await expect(balances.load(workspaceId)).rejects.toThrow('WRONGTYPE');
  await opened.redis.del(redisKeys.call(workspaceId, damaged));
  expect(await balances.load(workspaceId)).toBe(true);
  expect((await opened.walletOf(workspaceId)).spent).toBe(event.chargeNanoUsd);
  expect((await opened.keyOf(workspaceId, keyId)).spent).toBe(event.chargeNanoUsd);
  expect(await opened.redis.smembers(redisKeys.keys(workspaceId))).toEqual([keyId]);
});

it('leaves the charge of a settled call to its row, where the ledger has it', async () => {
  const { call, terms } = await anAdmittedCall(opened);
  const event = toEvent(call, { ...anEnding, admittedAtMs: terms.admittedAtMs, endedAtMs: terms.admittedAtMs });
  await createCallEndings(opened.redis, opened).settle(event, toUsageRecordedJson(event), KEPT);
  rows.add(call.callId);
  const { balances } = await raiseEpoch();
  await balances.load(call.workspaceId);
  // The ledger here says that nothing is spent.
  expect((await opened.walletOf(call.workspaceId)).spent).toBe(0n);
});

it('notes as uncertain only a call that came to the records after the ledger was asked', async () => {
  const { call } = await anAdmittedCall(opened, { leaseMs: OVER_MS });
  const { balances, endings } = await raiseEpoch();
  const calls = redisKeys.calls(call.workspaceId);
  await opened.redis.zrem(calls, call.callId);
  meanwhile = async () => {
    await opened.redis.zadd(calls, 1, call.callId);
  };
  await balances.load(call.workspaceId);
  expect(asked).toEqual([]);
  expect(await countOf(call)).toEqual({ admittedCalls: ROWS, uncertainCalls: 0, open: [] });
  await endings.sweep(call, LEASE_MS);
  expect(await countOf(call)).toEqual({ admittedCalls: ROWS + 1, uncertainCalls: 1, open: ['swept'] });
});

it('asks the ledger for the calls that are put back before all others, of which it asks for no more than 10,000', async () => {
  const held = await anAdmittedCall(opened);
  const { callId, workspaceId } = held.call;
  rows.add(callId);
  const { balances, assertCall, stamp } = await raiseEpoch();
  const calls = redisKeys.calls(workspaceId);
  const others = Array.from({ length: 10_000 }, (_, index) => [index, randomUUID()]).flat();
  await opened.redis.zadd(calls, ...others);
  const recorded = await balances.loadFor(workspaceId, stamp, [callId]);
  expect(asked).toHaveLength(10_000);
  await assertCall(held, stamp, recorded);
  expect((await countOf(held.call)).admittedCalls).toBe(ROWS + 1);
});
