import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { aMediaUsageRecorded, aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { aPartition, openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { absorb } from '../balances/absorb.ts';
import { replayDeadLetter } from '../dead-letters/replayDeadLetter.ts';
import { readBooks } from './readBooks.ts';
import { sealBooks } from './sealBooks.ts';
import { verifySeals } from './verifySeals.ts';

// The functions of the database's owner that take a month out of the books, and put it back.

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
  await ledger.db.$executeRaw`UPDATE recovery SET timeline = current_timeline()`;
});
afterAll(() => ledger.close());

const HOUR_MS = 3_600_000;
const seal = () =>
  sealBooks(ledger.db, { listPrices: async () => [], timeMs: 60_000, signal: new AbortController().signal });
const deliver = (...events: UsageRecorded[]) => aPartition(ledger.db).deliver(events);

async function findDifferences(workspaceId?: string): Promise<string[]> {
  const books = await readBooks(ledger.db, [], workspaceId);
  const sealChecks = await verifySeals(ledger.db, workspaceId);
  const checks = books.flatMap((of) => [...of.checks, ...sealChecks(of.workspaceId)]);
  return checks.filter(({ verdict }) => verdict !== 'equal').map(({ name }) => name);
}

/** Changes a row as a superuser can, with triggers turned off. */
async function tamper(sql: string, ...values: unknown[]): Promise<void> {
  await ledger.ownerDb.$transaction(async (tx) => {
    await tx.$executeRawUnsafe('ALTER TABLE usage_request DISABLE TRIGGER USER');
    await tx.$executeRawUnsafe(sql, ...values);
    await tx.$executeRawUnsafe('ALTER TABLE usage_request ENABLE TRIGGER USER');
  });
}

it('agrees after a sealed month was archived, and after it was put back; a late event of it becomes a dead letter', async () => {
  const startedAtMs = Date.UTC(2026, 2, 10, 12);
  const events = [
    aUsageRecorded({ startedAtMs }),
    aMediaUsageRecorded({ startedAtMs: startedAtMs + 3 * HOUR_MS }),
  ] as const;
  const [first] = events;
  const { workspaceId } = first;
  await deliver(...events, aUsageRecorded({ workspaceId }));
  // The call's id and its begin lie in different months.
  await deliver(aUsageRecorded({ workspaceId, startedAtMs, callId: aUsageRecorded().callId }));
  const archive = () => ledger.ownerDb.$executeRaw`SELECT archive_usage_month('2026-03-01')`;
  await expect(archive()).rejects.toThrow('not sealed');
  await seal();
  await tamper("UPDATE usage_request SET reason = 'x' WHERE call_id = $1::UUID", first.callId);
  await expect(archive()).rejects.toThrow('differ from their rows');
  await tamper('UPDATE usage_request SET reason = NULL WHERE call_id = $1::UUID', first.callId);
  const counted = async () =>
    (await ledger.db.$queryRaw<{ n: number }[]>`SELECT count(*)::INT AS n FROM usage_request`)[0]?.n;
  const rows = (await counted()) ?? 0;

  await archive();
  expect(await counted()).toBe(rows - 2);
  expect(await findDifferences()).toEqual([]);
  expect(await findDifferences(workspaceId)).toEqual([]);
  const partition = aPartition(ledger.db);
  await partition.deliver([first, aUsageRecorded({ workspaceId })]);
  const letters = await ledger.db.deadLetter.findMany({ where: { partition: partition.partition } });
  expect(letters.map(({ reason }) => reason)).toEqual(['refused by Postgres: 23514']);
  // Its owner sends it no more, and is told that it is recorded once the month is returned.
  const asked = [{ workspaceId, month: '2026-03', keyIds: [], callIds: [first.callId] }];
  const { workspaces } = await absorb(ledger.db, asked);
  expect(workspaces).toMatchObject([{ finalCallIds: [], deadLetterCallIds: [first.callId] }]);
  await seal();
  expect(await findDifferences()).toEqual([]);
  await expect(ledger.ownerDb.$executeRaw`DELETE FROM usage_request_2026_03_archived`).rejects.toThrow('append-only');

  await ledger.ownerDb.$executeRaw`SELECT return_usage_month('2026-03-01')`;
  expect(await counted()).toBe(rows + 1);
  expect(await findDifferences()).toEqual([]);
  expect((await absorb(ledger.db, asked)).workspaces).toMatchObject([{ finalCallIds: [first.callId] }]);
  await replayDeadLetter(ledger.db, { id: letters[0]?.deadLetterId ?? 0n, repaired: undefined, region: 'us' });
  expect((await absorb(ledger.db, asked)).workspaces).toMatchObject([{ deadLetterCallIds: [] }]);
  await deliver(first);
  expect(await findDifferences()).toEqual([]);
});
