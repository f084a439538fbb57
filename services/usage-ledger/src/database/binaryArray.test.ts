import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from '@turnpike/postgres/sql';
import fc from 'fast-check';
import { openTestLedger, type TestLedger } from '../../test/openTestLedger.ts';
import { binaryArray } from './binaryArray.ts';

let ledger: TestLedger;
beforeAll(async () => {
  ledger = await openTestLedger();
});
afterAll(() => ledger.close());

const EARLIEST_MS = Date.UTC(1970);
const LATEST_MS = Date.UTC(9999, 11, 31);

/** Values of each type, and that type's name in SQL. */
const TYPES = {
  boolean: [sql`BOOLEAN`, fc.boolean()],
  int: [sql`INT`, fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })],
  bigint: [sql`BIGINT`, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  timestamptz: [sql`TIMESTAMPTZ`, fc.integer({ min: EARLIEST_MS, max: LATEST_MS })],
  uuid: [sql`UUID`, fc.uuid()],
  // All that a text of Postgres may hold: anything but a NUL.
  text: [sql`TEXT`, fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\0', ''))],
} as const;

const toText = (value: unknown): string | null => {
  if (value === null) return null;
  return value instanceof Date ? String(value.getTime()) : String(value);
};

it.each(Object.keys(TYPES) as (keyof typeof TYPES)[])(
  'Postgres reads the values of an array of %s, and nulls among them',
  async (type) => {
    const [sqlType, values] = TYPES[type];
    const toArray = binaryArray[type] as <Row>(rows: Row[], read: (row: Row) => unknown) => Buffer;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(values as fc.Arbitrary<unknown>), { maxLength: 50 }), async (column) => {
        const array = toArray(column, (value) => value);
        const rows = await ledger.db.query(sql<{ value: unknown }>`
          SELECT value FROM unnest(${array}::${sqlType}[]) WITH ORDINALITY AS of (value, place) ORDER BY place`);
        expect(rows.map(({ value }) => toText(value))).toEqual(column.map(toText));
      }),
      { numRuns: 100, seed: 20_261_128 },
    );
  },
);
