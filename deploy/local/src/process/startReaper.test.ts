import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { linkStackFile } from '../stackFile.ts';
import { toPartEnvironment } from '../toPartEnvironment.ts';
import { startReaper } from './startReaper.ts';

let folder: string;
let link: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-reaper-'));
  link = join(folder, 'stack.json');
});
afterEach(() => rm(folder, { recursive: true }));

/** Lets a launcher end as if it were killed, having told its reaper of the stack's description. */
async function endLauncherOf(file: string): Promise<void> {
  const reaper = startReaper(toPartEnvironment());
  reaper.tell({ type: 'remove', file });
  reaper.tell({ type: 'unlink', link, file });
  await reaper.end();
}

async function aStackFile(portBase: string): Promise<string> {
  const file = join(folder, portBase, 'stack.json');
  await mkdir(join(folder, portBase));
  await writeFile(file, portBase);
  await linkStackFile(link, file);
  return file;
}

it('leaves the link with a stack that still runs when the launcher of the latest one has gone, and then none', async () => {
  const first = await aStackFile('8080');
  const second = await aStackFile('8180');

  await endLauncherOf(second);
  expect(existsSync(second)).toBe(false);
  expect(await readFile(link, 'utf8')).toBe('8080');

  await endLauncherOf(first);
  await expect(readlink(link)).rejects.toThrow('ENOENT');
});
