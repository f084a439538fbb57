import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { expect, it } from '@jest/globals';
import { rows } from './contract/rows.ts';

/** Files whose tests share a stack, and are registered by one test file. */
const FOLDERS = ['plain', 'recorded', 'media', 'wire'];

/** Ids of the rows that the files of this folder register: the test files, and those that share a stack. */
const registered = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts') || FOLDERS.some((folder) => name.startsWith(`${folder}${sep}`)))
  .flatMap((name) => [...readFileSync(join(import.meta.dirname, name), 'utf8').matchAll(/^row\(\s*'([^']+)'/gm)])
  .map(([, id]) => id ?? '');

it('every row of the contract has one test, and every test is of a row', () => {
  expect(registered.toSorted()).toEqual(Object.keys(rows).toSorted());
});
