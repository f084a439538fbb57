import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { RUNBOOKS, readRunbook } from './readRunbook.ts';
import { toBlocks } from './toBlocks.ts';

const run = promisify(execFile);

it('takes what is fenced as commands, each with its heading, and nothing else', () => {
  const page =
    '# Page\n\n## Do\n\n```sh\n# not a heading\nfirst\n```\n\n```yaml\nno: command\n```\n\n```sh\nsecond\n```\n\n## Check\n\n```sh\nthird\n```\n';
  expect(toBlocks(page)).toEqual([
    { heading: 'Do', commands: '# not a heading\nfirst\n' },
    { heading: 'Do', commands: 'second\n' },
    { heading: 'Check', commands: 'third\n' },
  ]);
});

it('every page of the runbooks is what bash can read', async () => {
  const pages = (await readdir(RUNBOOKS)).filter((name) => name.endsWith('.md'));
  expect(pages.length).toBeGreaterThan(1);
  for (const page of pages)
    for (const { commands } of await readRunbook(page)) await run('bash', ['-n', '-c', commands]);
});
