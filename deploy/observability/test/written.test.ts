import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { writeObservability } from '../src/observabilityFiles.ts';

const WRITTEN = writeObservability();

it.each(Object.entries(WRITTEN))(
  '%s is what the code writes; if this fails: npm run observability',
  async (path, text) => {
    expect(await readFile(join(repositoryRoot, path), 'utf8')).toBe(text);
  },
);

it('has no dashboard and no rules that the code does not write', async () => {
  const there = await Array.fromAsync(glob('deploy/observability/{dashboards,rules}/*', { cwd: repositoryRoot }));
  expect(there.length).toBeGreaterThan(5);
  expect(there.filter((path) => !(path in WRITTEN))).toEqual([]);
});
