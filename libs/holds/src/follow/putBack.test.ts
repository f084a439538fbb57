import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { parseUsageRecorded, toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import type { Redis } from 'ioredis';
import { aHold } from '../../test/aHold.ts';
import { aShardHolds } from '../../test/aShardHolds.ts';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { type EndedCall, type Hold, PendingCalls } from '../call/pendingCalls.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import type { Session } from '../redis/sessionState.ts';
import { PutBack } from './putBack.ts';

const HOLD = 1_000n;
const CHARGE = 300n;

let opened: OpenedRedis;
let pending: PendingCalls;
let session: Session;
let owner: string;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(() => {
  pending = new PendingCalls();
  session = { mark: opened.mark, token: randomUUID() };
  owner = randomUUID();
});

const aPutBack = (redis: Redis = opened.redis) =>
  new PutBack(redis, { owner, sessionState: opened.sessionState, pending });

async function aHeldCall(workspaceId?: string): Promise<Hold> {
  const held = await aHold(opened, { holdNanoUsd: HOLD, ...(workspaceId && { workspaceId }) });
  pending.add(held);
  return held;
}

function end({ callId, keyId, workspaceId }: Hold): EndedCall {
  const event = aUsageRecorded({ callId, keyId, workspaceId, chargeNanoUsd: CHARGE, holdNanoUsd: HOLD });
  const ended = { event, json: toUsageRecordedJson(event) };
  pending.end(ended);
  return ended;
}

/** Redis forgets a workspace. */
async function forget({ workspaceId }: Hold): Promise<void> {
  await opened.redis.del(await opened.redis.keys(`{${workspaceId}}:*`));
}

const sumsOf = async ({ workspaceId, keyId }: Hold) => {
  const { held, ended } = await opened.walletOf(workspaceId);
  expect(await opened.keyOf(workspaceId, keyId)).toMatchObject({ held, ended });
  expect(await opened.monthsOf(workspaceId)).toMatchObject({ held, ended });
  return { held, ended };
};

/** A Redis on whose way the n-th put-back is lost, and kept for later. */
function aRedisThatLoses(nth: number): { redis: Redis; runLost: () => Promise<unknown> } {
  let count = 0;
  let lost: (() => Promise<unknown>) | undefined;
  const redis = Object.create(opened.redis) as Redis;
  redis.defineCommand = (name, definition) => {
    opened.redis.defineCommand(name, definition);
    const run = Reflect.get(opened.redis, name) as (...args: unknown[]) => Promise<unknown>;
    Reflect.set(redis, name, (...args: unknown[]) => {
      count += 1;
      if (count !== nth) return run.apply(opened.redis, args);
      lost = () => run.apply(opened.redis, args);
      return Promise.reject(new Error('Command timed out'));
    });
  };
  return { redis, runLost: async () => lost?.() };
}

it('gives a Redis that has forgotten them the holds of calls that run and the charges of those that ended', async () => {
  const held = await aHeldCall();
  const other = await aHeldCall();
  const ended = end(other);
  await forget(held);
  await forget(other);
  await aPutBack().putAll(session);
  expect(await sumsOf(held)).toEqual({ held: HOLD, ended: 0n });
  expect(await sumsOf(other)).toEqual({ held: 0n, ended: CHARGE });
  const { admittedAtMs, estimatedPromptTokens, rpm, tpm } = held;
  const record = await opened.callOf(held);
  expect(record).toMatchObject({
    ...{ kind: 'held', amount: '1000', key: held.keyId, session: session.token, owner: owner },
    ...{ estimate: String(estimatedPromptTokens), rpm: String(rpm), tpm: String(tpm) },
    ...{ admitted_at: String(admittedAtMs), month: new Date(admittedAtMs).toISOString().slice(0, 7) },
  });
  expect(parseUsageRecorded(record.event ?? '')).toMatchObject({ callId: held.callId, status: 'unknown' });
  expect(await opened.callOf(other)).toMatchObject({ kind: 'ended', amount: '300', event: ended.json });
  const calls = await opened.redis.hgetall(redisKeys.calls(held.workspaceId));
  expect(calls).toEqual({ [held.callId]: session.token });
});

it('gives what stands there the new session, and changes no sum, however often', async () => {
  const held = await aHeldCall();
  const putBack = aPutBack();
  for (const token of ['second', 'third']) await putBack.putAll({ mark: opened.mark, token });
  expect(await sumsOf(held)).toEqual({ held: HOLD, ended: 0n });
  expect(await opened.callOf(held)).toMatchObject({ session: 'third' });
  expect(await opened.redis.hgetall(redisKeys.calls(held.workspaceId))).toEqual({ [held.callId]: 'third' });
});

it('never turns a charge back into a hold', async () => {
  const held = await aHeldCall();
  const { event, json } = end(held);
  // Listed before it ended.
  pending.remove(held.callId);
  pending.add(held);
  await aShardHolds(opened).settle(event, json);
  await aPutBack().putAll(session);
  expect(await sumsOf(held)).toEqual({ held: 0n, ended: CHARGE });
  expect(await opened.callOf(held)).toMatchObject({ kind: 'ended', event: json, session: session.token });
});

it('turns a hold into the charge of a call that has ended since', async () => {
  const held = await aHeldCall();
  end(held);
  await aPutBack().putAll(session);
  expect(await sumsOf(held)).toEqual({ held: 0n, ended: CHARGE });
});

it('counts the other calls of a wallet that was lost alone as well', async () => {
  const held = await aHeldCall();
  const other = await aHold(opened, { holdNanoUsd: HOLD, workspaceId: held.workspaceId });
  await opened.redis.del(redisKeys.wallet(held.workspaceId));
  await aPutBack().putAll(session);
  expect(await opened.walletOf(other.workspaceId)).toMatchObject({ held: 2n * HOLD, ended: 0n });
});

it('puts back many calls of many workspaces', async () => {
  const calls: Hold[] = [];
  for (let nth = 0; nth < 12; nth += 1) calls.push(await aHeldCall());
  const [first] = calls;
  const callIds = Array.from({ length: 250 }, () => randomUUID());
  for (const callId of callIds) if (first) pending.add({ ...first, callId });
  for (const held of calls) await forget(held);
  await aPutBack().putAll(session);
  for (const held of calls.slice(1)) expect(await sumsOf(held)).toEqual({ held: HOLD, ended: 0n });
  expect(first && (await sumsOf(first))).toEqual({ held: 251n * HOLD, ended: 0n });
});

it.each<[string, () => string]>([
  ['under another mark', () => `${opened.mark.slice(0, 41)}${randomUUID()}`],
  ['of another server', () => `${'f'.repeat(40)}:${randomUUID()}`],
])('puts nothing into a Redis %s, and says so', async (_which, theirs) => {
  const held = await aHeldCall();
  await expect(aPutBack().putAll({ mark: theirs(), token: session.token })).rejects.toThrow('another one');
  expect(await opened.callOf(held)).toMatchObject({ session: opened.session.token });
});

describe('a put-back that is late or comes twice', () => {
  it.each([1, 2])('is refused by its number once the next one has run, where the lost one was the %i.', async (nth) => {
    const held = await aHeldCall();
    const { redis, runLost } = aRedisThatLoses(nth);
    const putBack = aPutBack(redis);
    if (nth === 2) await putBack.putAll({ mark: opened.mark, token: 'first' });
    await expect(putBack.putAll({ mark: opened.mark, token: 'lost' })).rejects.toThrow('timed out');
    await putBack.putAll(session);
    expect(await runLost()).toBe('late');
    expect(await opened.callOf(held)).toMatchObject({ session: session.token });
    expect(await sumsOf(held)).toEqual({ held: HOLD, ended: 0n });
  });

  it('is refused also where the next one has nothing left to put back there', async () => {
    const held = await aHeldCall();
    const { redis, runLost } = aRedisThatLoses(1);
    const putBack = aPutBack(redis);
    await expect(putBack.putAll({ mark: opened.mark, token: 'lost' })).rejects.toThrow('timed out');
    const { event, json } = end(held);
    await aShardHolds(opened).settle(event, json);
    pending.remove(held.callId);
    await forget(held);
    await putBack.putAll(session);
    expect(await runLost()).toBe('late');
    expect(await opened.pendingOf(held.workspaceId)).toEqual([]);
  });

  it('is not taken for one of another owner', async () => {
    const held = await aHeldCall();
    await aPutBack().putAll(session);
    const [theirs, token] = [new PendingCalls(), randomUUID()];
    const other = await aHold(opened, { holdNanoUsd: HOLD, workspaceId: held.workspaceId });
    theirs.add(other);
    const { sessionState } = opened;
    await new PutBack(opened.redis, { owner: randomUUID(), sessionState, pending: theirs }).putAll({
      mark: opened.mark,
      token,
    });
    expect(await opened.callOf(other)).toMatchObject({ session: token });
    expect(await opened.callOf(held)).toMatchObject({ session: session.token });
  });

  it('forgets owners that have put nothing back for a day, where there are many', async () => {
    const held = await aHeldCall();
    const names = redisKeys.owners(held.workspaceId);
    const [now, aDayAgo] = [Date.now(), Date.now() - 86_400_000 - 60_000];
    for (let nth = 0; nth < 150; nth += 1)
      await opened.redis.hset(names, `old-${nth}`, aDayAgo, `young-${nth}`, now - 1_000);
    await aPutBack().putAll(session);
    expect(Object.keys(await opened.redis.hgetall(names)).filter((name) => name.startsWith('old'))).toEqual([]);
    expect(await opened.redis.hlen(names)).toBe(151);
    expect(await opened.redis.pttl(names)).toBeGreaterThan(39 * 86_400_000);
  });

  it('keeps no later process of its owner from putting back, whose clock was set back', async () => {
    const held = await aHeldCall();
    const inAnHour = Date.now() + 3_600_000;
    await opened.redis.hset(redisKeys.owners(held.workspaceId), owner, inAnHour);
    const putBack = aPutBack();
    await expect(putBack.putAll(session)).rejects.toThrow('a later put-back was first');
    await putBack.putAll(session);
    expect(await opened.callOf(held)).toMatchObject({ session: session.token });
    const number = Number(await opened.redis.hget(redisKeys.owners(held.workspaceId), owner));
    expect(number).toBeGreaterThan(inAnHour);
  });
});
