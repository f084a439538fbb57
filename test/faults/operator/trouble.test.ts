import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { ALERTS, GLOBAL_ALERTS } from '../../../deploy/observability/test/readRules.ts';
import { ROWS } from './parts.ts';
import { formatTroubles, KINDS } from './trouble.ts';

const rows = Object.values(ROWS);

it('names an alert that there is for each trouble of each part', () => {
  const named = rows.flatMap((row) => KINDS.map((kind) => row[kind])).filter((trouble) => typeof trouble !== 'string');
  const known = [...ALERTS, ...GLOBAL_ALERTS].map(({ alert }) => alert);
  expect(known).toEqual(expect.arrayContaining(named.map(({ alert }) => alert)));
});

it('is in the operators’ page, word by word', async () => {
  const page = await readFile(join(repositoryRoot, 'docs/operations.md'), 'utf8');
  expect(page).toContain(`\n${formatTroubles(rows)}\n`);
});
