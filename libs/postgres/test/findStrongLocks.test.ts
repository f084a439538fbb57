import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from '../src/sql.ts';
import { findStrongLocks, listReferencedTables } from './findStrongLocks.ts';
import { makeTables } from './makeTables.ts';

let tables: Awaited<ReturnType<typeof makeTables>>;
let referenced: Set<string>;
beforeAll(async () => {
  tables = await makeTables(
    sql`CREATE TABLE parent (id TEXT PRIMARY KEY)`,
    sql`CREATE TABLE child (id TEXT PRIMARY KEY, parent TEXT REFERENCES parent (id))`,
  );
  referenced = await listReferencedTables(tables.databaseUrl);
});
afterAll(() => tables.stop());

it.each([
  ['of a service', 'tx.query(sql`SELECT 1 FROM parent WHERE id = 1\n  FOR UPDATE`)'],
  ['of a function', 'PERFORM 1 FROM parent WHERE id = OLD.parent FOR UPDATE;'],
  ['of a subquery', 'UPDATE child SET a = 1 WHERE id IN (SELECT id FROM parent LIMIT 1 FOR UPDATE SKIP LOCKED)'],
])('finds a lock %s', (_what, source) => {
  expect(findStrongLocks(referenced, source)).toEqual([expect.stringMatching(/^parent FOR UPDATE: /)]);
});

it.each([
  ['is no stronger than it has to be', 'SELECT 1 FROM parent WHERE id = 1 FOR NO KEY UPDATE'],
  ['is of a table without references', 'SELECT 1 FROM parent; SELECT 1 FROM child WHERE id = 1 FOR UPDATE'],
  ['is of another statement', 'sql`SELECT 1 FROM parent`; sql`SELECT 1 FROM child FOR UPDATE`'],
])('passes a lock that %s', (_what, source) => {
  expect(findStrongLocks(referenced, source)).toEqual([]);
});
