import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openPostgres, type TestDatabases } from '@turnpike/test-support/startPostgres';
import { Database } from '../src/database.ts';
import { sql } from '../src/sql.ts';
import { findStrongLocks } from './findStrongLocks.ts';

let postgres: TestDatabases;
let databaseUrl: string;
beforeAll(async () => {
  postgres = await openPostgres();
  databaseUrl = await postgres.createDatabase();
  // A busy machine may take its time to connect.
  const timeouts = { statementTimeoutMs: 30_000, waitTimeoutMs: 30_000 };
  const db = new Database({ service: 'test', databaseUrl, poolSize: 1, ...timeouts });
  await db.execute(sql`CREATE TABLE parent (id TEXT PRIMARY KEY)`);
  await db.execute(sql`CREATE TABLE child (id TEXT PRIMARY KEY, parent TEXT REFERENCES parent (id))`);
  await db.close();
});
afterAll(() => postgres.stop());

it.each([
  ['of a service', 'tx.query(sql`SELECT 1 FROM parent WHERE id = 1\n  FOR UPDATE`)'],
  ['of a function', 'PERFORM 1 FROM parent WHERE id = OLD.parent FOR UPDATE;'],
  ['of a subquery', 'UPDATE child SET a = 1 WHERE id IN (SELECT id FROM parent LIMIT 1 FOR UPDATE SKIP LOCKED)'],
])('finds a lock %s', async (_what, source) => {
  expect(await findStrongLocks(databaseUrl, source)).toEqual([expect.stringMatching(/^parent FOR UPDATE: /)]);
});

it.each([
  ['is no stronger than it has to be', 'SELECT 1 FROM parent WHERE id = 1 FOR NO KEY UPDATE'],
  ['is of a table without references', 'SELECT 1 FROM parent; SELECT 1 FROM child WHERE id = 1 FOR UPDATE'],
  ['is of another statement', 'sql`SELECT 1 FROM parent`; sql`SELECT 1 FROM child FOR UPDATE`'],
])('passes a lock that %s', async (_what, source) => {
  expect(await findStrongLocks(databaseUrl, source)).toEqual([]);
});
