import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson, type UsageRecorded } from '@turnpike/events/usageRecorded';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { connectRedis } from '@turnpike/redis-connection/connectRedis';
import { aFundedKey } from '../../test/aFundedKey.ts';
import { aShardHolds } from '../../test/aShardHolds.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { Settler } from '../holds.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import type { ShardHolds } from '../shardHolds.ts';
import { PendingCalls } from './pendingCalls.ts';

const HOLD = 1_000n;
const AMPLE = 10n ** 12n;

let opened: OpenedRedis;
let holds: ShardHolds;
beforeAll(async () => {
  opened = await openTestRedis();
  holds = aShardHolds(opened);
});
afterAll(() => opened.close());

interface HeldCall {
  key: KeyRecord;
  event: UsageRecorded;
  json: string;
}

async function aCall(fields: Partial<UsageRecorded> = {}, { tpm = 1_000_000 } = {}): Promise<HeldCall> {
  const key = await aFundedKey(opened, AMPLE, { rpm: 2, tpm });
  const { workspaceId } = key.workspace;
  const event = aUsageRecorded({ keyId: key.keyId, workspaceId, chargeNanoUsd: 300n, holdNanoUsd: HOLD, ...fields });
  return { key, event, json: toUsageRecordedJson(event) };
}

const admit = ({ key, event }: HeldCall) =>
  aShardHolds(opened).admit({
    callId: event.callId,
    key,
    holdNanoUsd: event.holdNanoUsd,
    estimatedPromptTokens: 10,
    unknownEventJson: 'the unknown event',
  });

/** A call that is admitted and held; its event is what it will end with. */
async function aHeldCall(...fields: Parameters<typeof aCall>): Promise<HeldCall> {
  const call = await aCall(...fields);
  expect(await admit(call)).toMatchObject({ outcome: 'admitted' });
  return call;
}

const recordOf = ({ event }: HeldCall) => opened.callOf(event);
/** The sums of pending calls, where all counters agree. */
async function pendingSums({ event: { workspaceId, keyId } }: HeldCall) {
  const { left, ...sums } = await opened.walletOf(workspaceId);
  expect(left).toBe(AMPLE);
  expect(await opened.keyOf(workspaceId, keyId)).toEqual({ spent: 0n, ...sums });
  expect(await opened.monthsOf(workspaceId)).toEqual({ spent: 0n, ...sums });
  return sums;
}

const levelOf = async ({ event: { workspaceId, keyId } }: HeldCall): Promise<number> =>
  Number(await opened.redis.hget(redisKeys.rates(workspaceId, keyId), 'level'));

describe('settle', () => {
  it('turns the hold into the charge, for key, workspace and month, which stays pending with its event', async () => {
    const call = await aHeldCall();
    expect(await pendingSums(call)).toEqual({ held: HOLD, ended: 0n });
    expect(await holds.settle(call.event, call.json)).toBe('held');
    expect(await pendingSums(call)).toEqual({ held: 0n, ended: 300n });
    expect(await recordOf(call)).toMatchObject({ kind: 'ended', amount: '300', event: call.json });
    expect(await opened.pendingOf(call.event.workspaceId)).toEqual([call.event.callId]);
  });

  it('charges once, however often it runs and whatever it brings later', async () => {
    const call = await aHeldCall();
    await holds.settle(call.event, call.json);
    for (const chargeNanoUsd of [300n, 999n])
      expect(await holds.settle({ ...call.event, chargeNanoUsd }, 'another')).toBe('ended');
    expect(await pendingSums(call)).toEqual({ held: 0n, ended: 300n });
    expect(await recordOf(call)).toMatchObject({ amount: '300', event: call.json });
  });

  it('says of a call that is not pending that it is none, and puts none there', async () => {
    const call = await aCall();
    expect(await holds.settle(call.event, call.json)).toBe('none');
    expect(await pendingSums(call)).toEqual({ held: 0n, ended: 0n });
    expect(await recordOf(call)).toEqual({});
  });

  it('takes the rest of what was used from the tokens-per-minute bucket, below zero if need be', async () => {
    const call = await aHeldCall({ promptTokens: 100, completionTokens: 400 }, { tpm: 100 });
    await holds.settle(call.event, call.json);
    expect(await levelOf(call)).toBeGreaterThanOrEqual(-400);
    expect(await levelOf(call)).toBeLessThan(-300);
  });

  it('gives nothing of the estimate back where nobody knows what was used', async () => {
    const uncounted = { promptTokens: 0, completionTokens: 0, chargeNanoUsd: 0n };
    const call = await aHeldCall({ ...uncounted, status: 'unknown' }, { tpm: 1 });
    expect(await levelOf(call)).toBe(-9);
    expect(await holds.settle(call.event, call.json)).toBe('held');
    expect(await levelOf(call)).toBeLessThan(-8);
    expect(await pendingSums(call)).toEqual({ held: 0n, ended: 0n });
  });

  it('gives the estimate back where a call failed', async () => {
    const nothing = { promptTokens: 0, completionTokens: 0, chargeNanoUsd: 0n };
    const call = await aHeldCall({ ...nothing, status: 'failure' }, { tpm: 1 });
    await holds.settle(call.event, call.json);
    expect(await levelOf(call)).toBe(1);
  });

  it('takes that once', async () => {
    const call = await aHeldCall({ promptTokens: 100, completionTokens: 400 }, { tpm: 100 });
    await holds.settle(call.event, call.json);
    await holds.settle(call.event, call.json);
    expect(await levelOf(call)).toBeGreaterThanOrEqual(-400);
  });

  it('does not save up what was refilled while a long call ran', async () => {
    const call = await aHeldCall({ promptTokens: 0, completionTokens: 100 }, { tpm: 100 });
    const bucket = redisKeys.rates(call.event.workspaceId, call.event.keyId);
    // Simulates a call that ran for ten minutes: the bucket was full again nine minutes ago.
    await opened.redis.hincrby(bucket, 'at', -600_000_000);
    await holds.settle(call.event, call.json);
    expect(await levelOf(call)).toBeCloseTo(10, 0);
  });
});

describe('release', () => {
  it('gives the hold back and charges nothing, however often and whatever follows', async () => {
    const call = await aHeldCall();
    await holds.release(call.event);
    await holds.release(call.event);
    expect(await holds.settle(call.event, call.json)).toBe('released');
    expect(await pendingSums(call)).toEqual({ held: 0n, ended: 0n });
    expect(await opened.pendingOf(call.event.workspaceId)).toEqual([]);
    await expect(admit(call)).rejects.toThrow('used before');
  });

  it('leaves a tombstone that goes by itself', async () => {
    const call = await aCall();
    await holds.release(call.event);
    expect(await recordOf(call)).toEqual({ kind: 'released' });
    expect(await opened.redis.pttl(redisKeys.call(call.event.workspaceId, call.event.callId))).toBeGreaterThan(0);
    await expect(admit(call)).rejects.toThrow('used before');
    expect(await pendingSums(call)).toEqual({ held: 0n, ended: 0n });
  });

  it('changes nothing about a call that has ended', async () => {
    const call = await aHeldCall();
    await holds.settle(call.event, call.json);
    await holds.release(call.event);
    expect(await recordOf(call)).toMatchObject({ kind: 'ended' });
    expect(await pendingSums(call)).toEqual({ held: 0n, ended: 300n });
  });

  const limitsOf = async ({ key: { keyId, workspace } }: HeldCall) => ({
    arrivalUs: Number(await opened.redis.hget(redisKeys.rates(workspace.workspaceId, keyId), 'arrival')),
    level: Number(await opened.redis.hget(redisKeys.rates(workspace.workspaceId, keyId), 'level')),
  });

  it('gives back hold, request and tokens, once', async () => {
    const other = await aHeldCall({}, { tpm: 600 });
    const { keyId, workspaceId } = other.event;
    const call = { ...other, event: aUsageRecorded({ keyId, workspaceId, holdNanoUsd: HOLD }) };
    const before = await limitsOf(call);
    await admit(call);
    const during = await limitsOf(call);
    expect(during.arrivalUs - before.arrivalUs).toBeGreaterThan(29_999_000);
    await holds.release(call.event);
    await holds.release(call.event);
    const afterwards = await limitsOf(call);
    expect(Math.abs(afterwards.arrivalUs - before.arrivalUs)).toBeLessThan(1_000);
    expect(afterwards.level - during.level).toBeCloseTo(10, 0);
    expect(await pendingSums(call)).toEqual({ held: HOLD, ended: 0n });
  });

  it('makes an admission that comes after it consume nothing at all', async () => {
    const call = await aCall();
    await holds.release(call.event);
    await expect(admit(call)).rejects.toThrow('used before');
    expect(await limitsOf(call)).toEqual({ arrivalUs: 0, level: 0 });
  });
});

describe('a wallet that was evicted alone', () => {
  it.each<[string, (call: HeldCall) => Promise<unknown>, object]>([
    ['settle', ({ event, json }) => holds.settle(event, json), { held: HOLD, ended: 300n }],
    ['release', ({ event }) => holds.release(event), { held: HOLD, ended: 0n }],
  ])('is counted from its calls again before a %s changes its sums', async (_which, end, sums) => {
    const call = await aHeldCall();
    const { keyId, workspaceId } = call.event;
    const running = { ...call, event: aUsageRecorded({ keyId, workspaceId, holdNanoUsd: HOLD }) };
    await admit(running);
    await opened.redis.del(redisKeys.wallet(workspaceId));
    await end(call);
    expect(await opened.walletOf(workspaceId)).toEqual({ left: 0n, ...sums });
    expect(await opened.keyOf(workspaceId, keyId)).toEqual({ spent: 0n, ...sums });
    expect(await opened.monthsOf(workspaceId)).toEqual({ spent: 0n, ...sums });
    const another = { ...call, key: aKeyRecord({ workspace: { workspaceId } }), event: aUsageRecorded() };
    expect(await admit(another)).toEqual({ outcome: 'not_loaded' });
  });
});

it('sends what calls were charged before their clients can be told of their end: the disk may be lost with the process', async () => {
  const redis = connectRedis(opened.server.url, { timeoutMs: 10_000 });
  const connected = aShardHolds({ redis, sessionState: opened.sessionState });
  const written = Promise.withResolvers<void>();
  const settler = new Settler({
    shardOf: () => connected,
    spool: { append: () => written.promise, release: () => {} },
    recorder: { add: () => {} },
    pending: new PendingCalls(),
    log: aSilentLogger(),
  });
  try {
    await once(redis, 'ready');
    const toLoadTheScript = await aHeldCall();
    await connected.settle(toLoadTheScript.event, toLoadTheScript.json);
    const calls = await Promise.all([aHeldCall(), aHeldCall()]);
    const sentBefore = redis.stream.bytesWritten;
    const ended = calls.map(async ({ event, json }) => {
      await settler.settle({ event, json });
      return { sent: redis.stream.bytesWritten - redis.stream.writableLength - sentBefore };
    });
    written.resolve();
    const eventBytes = Buffer.byteLength(calls.map(({ json }) => json).join(''));
    for (const { sent } of await Promise.all(ended)) expect(sent).toBeGreaterThan(eventBytes);
    await settler.close();
    for (const call of calls) expect(await recordOf(call)).toMatchObject({ kind: 'ended', event: call.json });
  } finally {
    await settler.close();
    redis.disconnect();
  }
});
