import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from '../src/sql.ts';
import { findRacyInserts, listUniqueIndexes } from './findRacyInserts.ts';
import { makeTables } from './makeTables.ts';

let tables: Awaited<ReturnType<typeof makeTables>>;
let indexes: Awaited<ReturnType<typeof listUniqueIndexes>>;
beforeAll(async () => {
  tables = await makeTables(
    sql`
      CREATE TABLE thing (
        id TEXT PRIMARY KEY, position BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE, number TEXT UNIQUE, a INT, b INT, UNIQUE (a, b))`,
  );
  indexes = await listUniqueIndexes(tables.databaseUrl);
});
afterAll(() => tables.stop());

it.each([
  ['a column that is unique too', 'INSERT INTO thing (id, number) VALUES (1, 2) ON CONFLICT (id) DO NOTHING', 1],
  ['an alias', 'INSERT INTO thing AS known (id, number)\n  SELECT 1, 2 ON CONFLICT (id) DO UPDATE SET a = 1', 1],
  ['two columns that are unique together', 'INSERT INTO thing (id, a, b) VALUES (1, 2, 3) ON CONFLICT (id)', 1],
  ['two other indexes', 'INSERT INTO thing (id, number, a, b) VALUES (1, 2, 3, 4) ON CONFLICT (b, a)', 2],
])('finds an insert with %s', (_what, statement, count) => {
  expect(findRacyInserts(indexes, `db.execute(sql\`${statement}\`)`)).toHaveLength(count);
});

it.each([
  ['names no index', 'INSERT INTO thing (id, number) VALUES (1, 2) ON CONFLICT DO NOTHING'],
  ['leaves the other unique columns empty', 'INSERT INTO thing (id, a) VALUES (1, 2) ON CONFLICT (id) DO NOTHING'],
  [
    'stands before another one',
    'INSERT INTO thing (id, number) VALUES (1, 2); INSERT INTO thing (id) VALUES (1) ON CONFLICT (id)',
  ],
])('passes an insert that %s', (_what, statement) => {
  expect(findRacyInserts(indexes, statement)).toEqual([]);
});
