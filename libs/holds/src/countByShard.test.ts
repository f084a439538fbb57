import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import type { Redis } from 'ioredis';
import { aHold } from '../test/aHold.ts';
import { aTestLedger, type TestLedger } from '../test/aTestLedger.ts';
import { type OpenedRedis, openTestRedis } from '../test/openTestRedis.ts';
import type { Hold } from './call/pendingCalls.ts';
import { type Counting, countByShard } from './holds.ts';
import type { Shard } from './redis/shards.ts';

let ledger: TestLedger;
let [one, other]: OpenedRedis[] = [];
let shards: Map<string, Shard>;
let counting: Counting;
let [first, second]: Hold[] = [];
/** Is heard while a script of the other waits. */
let beside: Redis | undefined;
beforeAll(async () => {
  ledger = await aTestLedger();
  [one, other] = await Promise.all([openTestRedis(), openTestRedis()]);
  beside = other?.redis.duplicate();
});
afterAll(async () => {
  beside?.disconnect();
  await Promise.all([ledger, one, other].map((each) => each?.close()));
});
beforeEach(async () => {
  shards = new Map();
  counting = countByShard({ of: (id) => shards.get(id) }, { ledgerUrl: ledger.url, internalHeaders: () => ({}) });
  [first, second] = [await aRecordedCall(one), await aRecordedCall(other)];
});
afterEach(() => beside?.call('CLIENT', 'UNPAUSE'));

async function aRecordedCall(opened: OpenedRedis | undefined): Promise<Hold> {
  if (!opened) throw new Error('no Redis');
  const hold = await aHold(opened);
  shards.set(hold.workspaceId, opened.shard);
  Object.assign(ledger.booksOf(hold.workspaceId), { seq: 2, final: [hold.callId] });
  return hold;
}

async function askAboutBoth(): Promise<string[]> {
  const questions = [first, second].flatMap((hold) =>
    hold ? [{ workspaceId: hold.workspaceId, callIds: [hold.callId] }] : [],
  );
  return [...(await counting.absorber.absorbCalls(questions)).final];
}

/** Both are asked about, and what the other shard has said is taken over late. */
async function askWithOneSlow(meanwhile: () => void): Promise<string[]> {
  await beside?.call('CLIENT', 'PAUSE', '60000', 'WRITE');
  const asked = askAboutBoth();
  await until('the first is taken over', async () => {
    const left = first && (await one?.pendingOf(first.workspaceId));
    return left?.length === 0;
  });
  meanwhile();
  await beside?.call('CLIENT', 'UNPAUSE');
  return asked;
}

it('asks about calls of all shards', async () => {
  expect(await askAboutBoth()).toEqual([first?.callId, second?.callId]);
});

it('finds the calls of a shard beside one that nobody serves, and rejects where there is no other', async () => {
  shards.delete(second?.workspaceId ?? '');
  expect(await askAboutBoth()).toEqual([first?.callId]);
  shards.clear();
  await expect(askAboutBoth()).rejects.toThrow('no Redis serves');
});

it.each<[string, () => void]>([
  ['calls are put back', () => one?.sessionState.notePutBack()],
  ['its slots have moved', () => void (other && shards.set(first?.workspaceId ?? '', other.shard))],
])('is not done with a call of a shard in which %s while another shard is waited for', async (_what, meanwhile) => {
  expect(await askWithOneSlow(() => {})).toEqual([first?.callId, second?.callId]);
  [first, second] = [await aRecordedCall(one), await aRecordedCall(other)];
  expect(await askWithOneSlow(meanwhile)).toEqual([second?.callId]);
});
