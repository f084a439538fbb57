import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
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

const readPages = async (): Promise<string[]> => (await readdir(RUNBOOKS)).filter((name) => name.endsWith('.md'));

it('every page of the runbooks is what bash can read', async () => {
  const pages = await readPages();
  expect(pages.length).toBeGreaterThan(1);
  for (const page of pages)
    for (const { commands } of await readRunbook(page)) await run('bash', ['-n', '-c', commands]);
});

it('every wait of the runbooks has a limit: loops by `within`, kubectl by --timeout', async () => {
  const unbounded: string[] = [];
  for (const page of await readPages()) {
    const blocks = (await readFile(join(RUNBOOKS, page), 'utf8')).match(/^```(?:ba)?sh\n[\s\S]*?^```$/gm) ?? [];
    for (const line of blocks.join('\n').split('\n'))
      if (/\b(until|while)\b.*(;\s*do\b|$)/.test(line.replace(/(^|\s)#.*/, '')) || isEndlessWait(line))
        unbounded.push(`${page}: ${line.trim()}`);
  }
  expect(unbounded).toEqual(['README.md: until output=$("$@" 2>&1); do']);
});

const isEndlessWait = (line: string): boolean =>
  /\bkubectl\b.*\b(wait|rollout status|delete pod)\b/.test(line) && !line.includes('--timeout=');

it('within repeats a command until it succeeds, and gives up with 1 after its seconds', async () => {
  const within = (await readRunbook('README.md')).map(({ commands }) => commands).join('');
  const paste = (commands: string) => run('bash', ['-e', '-o', 'pipefail', '-c', `${within}\n${commands}`]);

  const third = await paste('calls=$(mktemp); third() { echo >> $calls; wc -l < $calls | grep 3; }; within 60 third');
  expect(third.stdout).toBe('3\n');
  await expect(paste('no() { echo not yet; false; }; within 1 no; echo went on')).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'not yet\nNot done in time: no\n',
  });
});
