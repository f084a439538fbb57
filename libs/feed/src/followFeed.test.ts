import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { generateSigningKey, publicKeysSchema, signingKeySchema, toPublicKey } from '@turnpike/config/internalKeys';
import { Database } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';
import { openPostgres, type TestDatabases } from '@turnpike/test-support/startPostgres';
import { type FeedEntry, PAGE_ENTRIES, signPage } from './feedPage.ts';
import { applyAll, FeedRefused } from './followFeed.ts';

const KEY = generateSigningKey('global/control-plane');
const key = signingKeySchema.parse(KEY);
const keys = publicKeysSchema.parse(toPublicKey(KEY));

let postgres: TestDatabases;
let db: Database;
beforeAll(async () => {
  postgres = await openPostgres();
  db = new Database({
    service: 'test',
    databaseUrl: await postgres.createDatabase(),
    poolSize: 4,
    statementTimeoutMs: 30_000,
    waitTimeoutMs: 30_000,
  });
  await db.execute(sql`
    CREATE TABLE feed_cursor (only_one BOOLEAN PRIMARY KEY DEFAULT true, epoch TEXT, seq INTEGER NOT NULL DEFAULT 0, chain TEXT)`);
  await db.execute(sql`CREATE TABLE applied (nth SERIAL, credit_id TEXT)`);
});
beforeEach(async () => {
  await db.execute(sql`TRUNCATE feed_cursor, applied RESTART IDENTITY`);
  await db.execute(sql`INSERT INTO feed_cursor DEFAULT VALUES`);
  Object.assign(plane, { epoch: 'e1', ids: [], signer: key, hasChain: true });
});
afterAll(async () => {
  await db.close();
  await postgres.stop();
});

/** A feed of credits, as the control plane gives it. */
const plane = { epoch: 'e1', ids: [] as string[], signer: key, hasChain: true };
const hashOf = (ids: string[]): string =>
  ids.length === 0 ? '' : createHash('sha256').update(ids.join()).digest('hex');
const idsUpTo = (count: number) => Array.from({ length: count }, (_, index) => `c${index + 1}`);

async function readPage(after: number): Promise<string> {
  const entries = plane.ids.map((id, index) => ({
    kind: 'credit' as const,
    seq: index + 1,
    credit_id: id,
    workspace_id: 'ws_1',
    nano_usd: '5',
    note: '',
  }));
  const chain = { before: hashOf(plane.ids.slice(0, after)), end: hashOf(plane.ids.slice(0, after + PAGE_ENTRIES)) };
  const page = {
    region: 'us' as const,
    epoch: plane.epoch,
    after,
    last: entries.length,
    ...(plane.hasChain && { chain }),
  };
  return signPage({ ...page, entries: entries.slice(after, after + PAGE_ENTRIES) }, plane.signer);
}

const follow = (refusing?: string) =>
  applyAll(
    {
      keys,
      region: 'us',
      db,
      async applyEntry(tx, entry: FeedEntry) {
        if (entry.kind !== 'credit') return;
        await tx.execute(sql`INSERT INTO applied (credit_id) VALUES (${entry.credit_id})`);
        if (entry.credit_id === refusing) throw new FeedRefused('not here');
      },
    },
    readPage,
  );

async function readApplied(): Promise<string[]> {
  const rows = await db.query(sql<{ credit_id: string }>`SELECT credit_id FROM applied ORDER BY nth`);
  return rows.map(({ credit_id: id }) => id);
}

it('applies every page there is, each entry once, however many processes follow', async () => {
  plane.ids = idsUpTo(2 * PAGE_ENTRIES + 1);
  for (let round = 0; round < 3; round += 1) await Promise.all([follow(), follow(), follow()]);
  expect(await readApplied()).toEqual(plane.ids);
});

it('applies nothing of a page with a refused entry, and goes on from there', async () => {
  plane.ids = idsUpTo(3);
  await expect(follow('c2')).rejects.toThrow(FeedRefused);
  expect(await readApplied()).toEqual([]);
  await follow();
  expect(await readApplied()).toEqual(plane.ids);
});

it('refuses a page of another key', async () => {
  plane.ids = idsUpTo(1);
  plane.signer = signingKeySchema.parse(generateSigningKey('global/control-plane'));
  await expect(follow()).rejects.toThrow(FeedRefused);
  expect(await readApplied()).toEqual([]);
});

it('refuses a feed that lost entries', async () => {
  plane.ids = idsUpTo(3);
  await follow();
  plane.ids = idsUpTo(2);
  await expect(follow()).rejects.toThrow('ends at 2, before 3');
});

it('reads the feed of another epoch from its beginning', async () => {
  plane.ids = idsUpTo(3);
  await follow();
  Object.assign(plane, { epoch: 'e2', ids: ['c1', 'd2'] });
  await follow();
  plane.ids = ['c1', 'd2', 'd3'];
  await follow();
  expect(await readApplied()).toEqual(['c1', 'c2', 'c3', 'c1', 'd2', 'd3']);
});

it('reads another history of the same epoch from its beginning, and says so once', async () => {
  plane.ids = idsUpTo(3);
  expect(await follow()).toBe(false);
  plane.ids = ['c1', 'd2', 'd3', 'd4'];
  expect(await follow()).toBe(true);
  plane.ids.push('d5');
  expect([await follow(), await follow()]).toEqual([false, false]);
  expect(await readApplied()).toEqual(['c1', 'c2', 'c3', 'c1', 'd2', 'd3', 'd4', 'd5']);
});

it('finds another history of the same length', async () => {
  plane.ids = idsUpTo(3);
  await follow();
  plane.ids = ['c1', 'd2', 'c3'];
  expect([await follow(), await follow()]).toEqual([true, false]);
  expect(await readApplied()).toEqual(['c1', 'c2', 'c3', 'c1', 'd2', 'c3']);
});

it('finds another history once a control plane of before, which gives no hash, is replaced', async () => {
  Object.assign(plane, { ids: idsUpTo(3), hasChain: false });
  expect([await follow(), await follow()]).toEqual([false, false]);
  plane.hasChain = true;
  expect([await follow(), await follow()]).toEqual([false, false]);
  plane.ids = ['d1', 'd2', 'd3'];
  expect(await follow()).toBe(true);
});

it('takes an empty feed of another epoch for its own', async () => {
  plane.ids = idsUpTo(1);
  await follow();
  Object.assign(plane, { epoch: 'e2', ids: [] });
  await follow();
  plane.ids = ['d1'];
  await follow();
  expect(await readApplied()).toEqual(['c1', 'd1']);
});
