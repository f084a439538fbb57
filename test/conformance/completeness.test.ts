import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { notYetServedRows } from './contract/notYetServedRows.ts';
import { rows } from './contract/rows.ts';

/** Ids of the rows that the test files beside this one register, in the order of the files. */
const registered = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith('.test.ts'))
  .flatMap((name) => [...readFileSync(join(import.meta.dirname, name), 'utf8').matchAll(/^row\(\s*'([^']+)'/gm)])
  .map(([, id]) => id ?? '');

it('every row of the contract has one test, and every test is of a row', () => {
  expect(registered.toSorted()).toEqual(Object.keys(rows).toSorted());
});

it('no row stands both among those that are tested and among those not yet served', () => {
  expect(Object.keys(notYetServedRows).filter((id) => id in rows)).toEqual([]);
});
