import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { pathOfRules, RULE_FILES, writeObservability } from '../src/observabilityFiles.ts';

const WRITTEN = writeObservability();

it.each(Object.entries(WRITTEN))(
  '%s is what the code writes; if this fails: npm run observability',
  async (path, text) => {
    expect(await readFile(join(repositoryRoot, path), 'utf8')).toBe(text);
  },
);

it('has no dashboard that the code does not write, and no rules that it does not read', async () => {
  const there = await Array.fromAsync(glob('deploy/observability/{dashboards,rules}/*', { cwd: repositoryRoot }));
  expect(there.length).toBeGreaterThan(5);
  const known = [...Object.keys(WRITTEN), ...RULE_FILES.map(pathOfRules)];
  expect(there.filter((path) => !known.includes(path))).toEqual([]);
});
