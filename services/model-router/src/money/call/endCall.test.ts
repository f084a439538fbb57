import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import fc from 'fast-check';
import { aKeyRecord } from '../../../test/aKeyRecord.ts';
import { type OpenedRedis, openTestRedis } from '../../../test/openTestRedis.ts';
import { createAdmit } from '../gate/admit.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { type CallEndings, createCallEndings } from './endCall.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const HOLD = 1_000n;
const LEASE_MS = 60_000;
/** A lease that has ended as soon as it is given. */
const NO_LEASE_MS = -1;
const kept = { isSafe: false, keepMs: LEASE_MS };
const safe = { isSafe: true, keepMs: 0 };

let opened: OpenedRedis;
let endings: CallEndings;
beforeAll(async () => {
  opened = await openTestRedis();
  endings = createCallEndings(opened.redis, opened);
});
afterAll(() => opened.close());

async function aFundedKey(fields: Parameters<typeof aKeyRecord>[0] = {}): Promise<KeyRecord> {
  const key = aKeyRecord(fields);
  await opened.credit(key.workspace.workspaceId, 10n ** 12n);
  return key;
}

interface HeldCall {
  event: UsageRecorded;
  json: string;
}

/** A call of the key, admitted and held; its event is what it will end with. */
async function aHeldCall(key: KeyRecord, fields: Partial<UsageRecorded> = {}, leaseMs = LEASE_MS): Promise<HeldCall> {
  const { workspaceId } = key.workspace;
  const event = aUsageRecorded({ keyId: key.keyId, workspaceId, chargeNanoUsd: 300n, holdNanoUsd: HOLD, ...fields });
  const admission = await createAdmit(opened.redis, { epoch: opened.epoch, routerId: 'router-1' })({
    callId: event.callId,
    key,
    holdNanoUsd: event.holdNanoUsd,
    estimatedPromptTokens: 10,
    leaseMs,
    unknownEventJson: 'the unknown event',
  });
  if (admission.outcome !== 'admitted') throw new Error(`call was ${admission.outcome}`);
  return { event, json: toUsageRecordedJson(event) };
}

const recordOf = ({ event }: HeldCall) => opened.redis.hgetall(redisKeys.call(event.workspaceId, event.callId));

async function booksOf({ event: { workspaceId, keyId } }: HeldCall) {
  const months = Object.entries(await opened.monthsOf(workspaceId));
  const monthly = (field: string) =>
    months.filter(([name]) => name.endsWith(field)).reduce((sum, [, amount]) => sum + amount, 0n);
  return {
    wallet: await opened.walletOf(workspaceId),
    key: await opened.keyOf(workspaceId, keyId),
    months: { spent: monthly(':spent'), held: monthly(':held') },
  };
}

const level = async ({ event: { workspaceId, keyId } }: HeldCall): Promise<number> =>
  Number(await opened.redis.hget(redisKeys.tokensPerMinute(workspaceId, keyId), 'level'));

it('a settled call is charged to key, workspace and month, and holds nothing', async () => {
  const call = await aHeldCall(await aFundedKey());
  await endings.settle(call.event, call.json, kept);
  expect(await booksOf(call)).toEqual({
    wallet: { credited: 10n ** 12n, spent: 300n, held: 0n },
    key: { spent: 300n, held: 0n },
    months: { spent: 300n, held: 0n },
  });
});

it('keeps the event beside the record until the event log has it, then only for a moment that the call is over', async () => {
  const call = await aHeldCall(await aFundedKey());
  await endings.settle(call.event, call.json, kept);
  expect(await recordOf(call)).toMatchObject({ state: 'settled', event: call.json });
  await endings.settle(call.event, call.json, safe);
  expect(await recordOf(call)).toEqual({ state: 'done', epoch: '1' });
  expect(await opened.redis.pttl(redisKeys.call(call.event.workspaceId, call.event.callId))).toBeGreaterThan(0);
  expect(await opened.redis.zcard(redisKeys.calls(call.event.workspaceId))).toBe(0);
  expect((await booksOf(call)).wallet.spent).toBe(300n);
});

it('forgets a call from before the balances once the event log has it, also where that is said late', async () => {
  const call = await aHeldCall(await aFundedKey());
  const { workspaceId } = call.event;
  await opened.redis.hset(redisKeys.wallet(workspaceId), { epoch: 2, held: 0 });
  expect(await endings.settle(call.event, call.json, kept)).toBe('other_epoch');
  expect(await recordOf(call)).toMatchObject({ state: 'held' });
  expect(await endings.settle(call.event, call.json, safe)).toBe('other_epoch');
  expect(await recordOf(call)).toEqual({});
  expect(await opened.redis.zcard(redisKeys.calls(workspaceId))).toBe(0);
  expect((await booksOf(call)).wallet).toMatchObject({ spent: 0n, held: 0n });
});

it('takes the rest of what was used from the tokens-per-minute bucket, below zero if need be', async () => {
  const call = await aHeldCall(await aFundedKey({ tpm: 100 }), { promptTokens: 100, completionTokens: 400 });
  await endings.settle(call.event, call.json, kept);
  expect(await level(call)).toBeGreaterThanOrEqual(-400);
  expect(await level(call)).toBeLessThan(-300);
});

it('does not save up what was refilled while a long call ran', async () => {
  const call = await aHeldCall(await aFundedKey({ tpm: 100 }), { promptTokens: 0, completionTokens: 100 });
  const bucket = redisKeys.tokensPerMinute(call.event.workspaceId, call.event.keyId);
  // As if the call had run for ten minutes: the bucket was full again nine minutes ago.
  await opened.redis.hincrby(bucket, 'at', -600_000_000);
  await endings.settle(call.event, call.json, kept);
  expect(await level(call)).toBeCloseTo(10, 0);
});

describe('release', () => {
  it('gives the hold back and charges nothing, however often and whatever follows', async () => {
    const call = await aHeldCall(await aFundedKey());
    await endings.release(call.event);
    await endings.release(call.event);
    await endings.settle(call.event, call.json, kept);
    expect(await booksOf(call)).toMatchObject({ wallet: { spent: 0n, held: 0n }, key: { spent: 0n, held: 0n } });
  });

  it('changes nothing about a call that has ended', async () => {
    const call = await aHeldCall(await aFundedKey());
    await endings.settle(call.event, call.json, kept);
    await endings.release(call.event);
    expect(await recordOf(call)).toMatchObject({ state: 'settled' });
    expect((await booksOf(call)).wallet).toMatchObject({ spent: 300n, held: 0n });
  });
});

describe('sweep', () => {
  it('leaves a call alone whose lease runs', async () => {
    const call = await aHeldCall(await aFundedKey());
    expect(await endings.sweep(call.event, LEASE_MS)).toBeUndefined();
    expect(await recordOf(call)).toMatchObject({ state: 'held' });
  });

  it('gives the hold of a call back whose lease has ended, which then cannot be renewed', async () => {
    const call = await aHeldCall(await aFundedKey(), {}, NO_LEASE_MS);
    const swept = await endings.sweep(call.event, LEASE_MS);
    expect(swept).toMatchObject({ state: 'swept', wasHeld: true, eventJson: 'the unknown event' });
    expect(Math.abs((swept?.admittedAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
    expect((await booksOf(call)).wallet).toMatchObject({ spent: 0n, held: 0n });
    expect(await endings.renewLease(call.event, LEASE_MS)).toBe('lost');
  });

  it('takes a renewed lease for a sign of life', async () => {
    const call = await aHeldCall(await aFundedKey(), {}, NO_LEASE_MS);
    expect(await endings.renewLease(call.event, LEASE_MS)).toBe('held');
    expect(await endings.sweep(call.event, LEASE_MS)).toBeUndefined();
  });

  it('is followed by one late charge when the router comes back with the true ending', async () => {
    const call = await aHeldCall(await aFundedKey(), {}, NO_LEASE_MS);
    await endings.sweep(call.event, LEASE_MS);
    await endings.forgetSwept(call.event, 'swept');
    await endings.settle(call.event, call.json, kept);
    await endings.settle(call.event, call.json, kept);
    await endings.settle(call.event, call.json, safe);
    await endings.settle(call.event, call.json, safe);
    expect((await booksOf(call)).wallet).toMatchObject({ spent: 300n, held: 0n });
  });

  it('hands out the kept event of a settled call, and forgets it once it is emitted', async () => {
    const call = await aHeldCall(await aFundedKey());
    await endings.settle(call.event, call.json, { isSafe: false, keepMs: NO_LEASE_MS });
    expect(await endings.sweep(call.event, LEASE_MS)).toMatchObject({ state: 'settled', eventJson: call.json });
    await endings.forgetSwept(call.event, 'settled');
    expect(await recordOf(call)).toEqual({ state: 'done' });
  });

  it('does not forget the true ending that came while the unknown one was being emitted', async () => {
    const call = await aHeldCall(await aFundedKey(), {}, NO_LEASE_MS);
    await endings.sweep(call.event, LEASE_MS);
    await endings.settle(call.event, call.json, kept);
    await endings.forgetSwept(call.event, 'swept');
    expect(await recordOf(call)).toMatchObject({ state: 'settled', event: call.json });
    expect(await opened.redis.zscore(redisKeys.calls(call.event.workspaceId), call.event.callId)).not.toBeNull();
  });
});

describe('in any order and any number of times', () => {
  const steps = ['settle', 'settleSafe', 'release', 'renew', 'endLease', 'sweep', 'forgetSwept'] as const;
  type Step = (typeof steps)[number];

  async function take(step: Step, { event, json }: HeldCall): Promise<void> {
    if (step === 'settle') await endings.settle(event, json, kept);
    if (step === 'settleSafe') await endings.settle(event, json, safe);
    if (step === 'release') await endings.release(event);
    if (step === 'renew') await endings.renewLease(event, LEASE_MS);
    if (step === 'endLease') await opened.redis.zadd(redisKeys.calls(event.workspaceId), 'XX', 1, event.callId);
    if (step === 'sweep') await endings.sweep(event, LEASE_MS);
    if (step === 'forgetSwept') await endings.forgetSwept(event, 'swept');
  }

  /** The states a call goes through, and whether it is charged: what the scripts promise, in a few lines. */
  function nextState(state: string, step: Step, isLeaseOver: boolean): string {
    if (step === 'settle' && (state === 'held' || state === 'swept')) return 'settled';
    if (step === 'settleSafe' && state !== 'released') return 'gone';
    if (step === 'release' && state === 'held') return 'released';
    if (step === 'sweep' && state === 'held' && isLeaseOver) return 'swept';
    return state;
  }

  it('held is the sum of live holds, spent the sum of settled charges, and nothing is ever negative', async () => {
    const anOrder = fc.array(fc.tuple(fc.nat(3), fc.constantFrom(...steps)), { minLength: 5, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(anOrder, async (order) => {
        const key = await aFundedKey();
        const calls = await Promise.all(
          [300n, 1_000n, 0n, 1n].map((chargeNanoUsd) => aHeldCall(key, { chargeNanoUsd })),
        );
        const model = calls.map(() => ({ state: 'held', isLeaseOver: false, charged: 0n }));
        for (const [index, step] of order) {
          const call = calls[index] as HeldCall;
          const known = model[index] as (typeof model)[number];
          await take(step, call);
          const isEnding = (step === 'settle' || step === 'settleSafe') && ['held', 'swept'].includes(known.state);
          if (isEnding) known.charged += call.event.chargeNanoUsd;
          known.state = nextState(known.state, step, known.isLeaseOver);
          if (step === 'endLease') known.isLeaseOver = true;
          if (step === 'renew' || step === 'sweep') known.isLeaseOver = false;

          const held = HOLD * BigInt(model.filter(({ state }) => state === 'held').length);
          const spent = model.reduce((sum, { charged }) => sum + charged, 0n);
          const { wallet, key: keyBooks, months } = await booksOf(call);
          expect(wallet).toEqual({ credited: 10n ** 12n, spent, held });
          expect(keyBooks).toEqual({ spent, held });
          expect(months).toEqual({ spent, held });
        }
      }),
      { numRuns: 150 },
    );
  });
});
