import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from '../src/sql.ts';
import { compareSchema } from './compareSchema.ts';
import { makeTables } from './makeTables.ts';

let tables: Awaited<ReturnType<typeof makeTables>>;
beforeAll(async () => {
  tables = await makeTables(
    sql`
    CREATE TABLE thing (
      id TEXT PRIMARY KEY, size INT NOT NULL CHECK (size > 0), made_at TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp())`,
    sql`CREATE INDEX thing_by_size ON thing (size)`,
    sql`CREATE TABLE without_model (id INT PRIMARY KEY)`,
  );
});
afterAll(() => tables.stop());

const RIGHT = `datasource db {
  provider = "postgresql"
}
model Thing {
  id     String   @id
  size   Int
  madeAt DateTime @default(dbgenerated("clock_timestamp()")) @map("made_at") @db.Timestamptz(3)

  @@index([size], map: "thing_by_size")
  @@map("thing")
}`;

it('finds no difference where the schema agrees with the tables', async () => {
  expect(await compareSchema(tables.databaseUrl, RIGHT)).toBeUndefined();
});

it.each([
  ['a column of another type', 'size   Int', 'size   BigInt', 'Altered column `size` (type changed)'],
  [
    'a column that may be null',
    'size   Int',
    'size   Int?',
    'Altered column `size` (changed from Required to Nullable)',
  ],
  ['a column that is not there', 'size   Int', 'size   Int\n  colour Int', 'Added column `colour`'],
  ['a missing column', / {2}madeAt .*\n/, '', 'Removed column `made_at`'],
  ['another default', 'dbgenerated("clock_timestamp()")', 'now()', 'Altered column `made_at` (default changed'],
  ['a missing index', '  @@index([size], map: "thing_by_size")\n', '', 'Removed index on columns (size)'],
  ['a table that is not there', '@@map("thing")', '@@map("things")', 'Added tables\n  - things'],
])('finds %s', async (_what, right, wrong, difference) => {
  const schema = RIGHT.replace(right, wrong);
  expect(schema).not.toBe(RIGHT);
  expect(await compareSchema(tables.databaseUrl, schema)).toContain(difference);
});
