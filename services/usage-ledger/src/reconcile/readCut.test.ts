import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { RedisCounters } from '@turnpike/internal-api/modelRouter';
import { openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { compareWithRedis } from './compareWithRedis.ts';
import { readCut } from './readCut.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

const LONG_AGO = new Date('2026-01-01T00:00:00Z');

/** A credit, recorded now unless another instant is given; its number. */
async function credited(workspaceId: string, amountNanoUsd: bigint, createdAt = new Date()): Promise<number> {
  const data = { creditId: randomUUID(), workspaceId, amountNanoUsd, note: '', createdAt };
  return Number((await ledger.ownerDb.credit.create({ data })).seq);
}

/** What Redis counts of a workspace that has made no call. */
const redisBooks = (creditSeq: number, creditedNanoUsd: bigint): RedisCounters => ({
  now_ms: Date.now(),
  epoch: 1,
  credit_seq: creditSeq,
  credited_nano_usd: creditedNanoUsd,
  spent_nano_usd: 0n,
  held_nano_usd: 0n,
  admitted_calls: 0,
  uncertain_calls: 0,
  keys: {},
  months: {},
  calls: [],
  next_after: null,
});

async function differing(workspaceId: string, books: RedisCounters): Promise<string[]> {
  const checks = compareWithRedis(books, await readCut(ledger.db, workspaceId, books));
  return checks.filter(({ verdict }) => verdict !== 'equal').map(({ name }) => name);
}

it('holds the credit that Redis counts against the credits up to the last one it knows', async () => {
  const workspaceId = `ws_${randomUUID()}`;
  await credited(workspaceId, 100n, LONG_AGO);
  const last = await credited(workspaceId, -30n, LONG_AGO);
  expect(await differing(workspaceId, redisBooks(last, 70n))).toEqual([]);
  expect(await differing(workspaceId, redisBooks(last, 71n))).toEqual(['redisCredited']);
});

it.each([
  ['a credit that gives, which nobody has asked for yet', 5n, LONG_AGO, []],
  ['a credit that takes, which is being announced', -5n, undefined, []],
  ['a credit that takes, and was never announced', -5n, LONG_AGO, ['redisCredited']],
])('with %s, differs as it should', async (_what, amount, createdAt, names) => {
  const workspaceId = `ws_${randomUUID()}`;
  const known = await credited(workspaceId, 100n, LONG_AGO);
  await credited(workspaceId, amount, createdAt);
  expect(await differing(workspaceId, redisBooks(known, 100n))).toEqual(names);
});
