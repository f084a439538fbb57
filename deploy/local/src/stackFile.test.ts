import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { linkStackFile, unlinkStackFile } from './stackFile.ts';

let folder: string;
let link: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-link-'));
  link = join(folder, 'stack.json');
});
afterEach(() => rm(folder, { recursive: true }));

async function aStackFile(portBase: string): Promise<string> {
  await mkdir(join(folder, portBase));
  await writeFile(join(folder, portBase, 'stack.json'), portBase);
  return join(folder, portBase, 'stack.json');
}

it('leads to the stack that started last, then to one that still runs, then nowhere', async () => {
  const first = await aStackFile('8080');
  const second = await aStackFile('8180');

  await linkStackFile(link, first);
  await linkStackFile(link, second);
  expect(await readFile(link, 'utf8')).toBe('8180');

  await unlinkStackFile(link, second);
  await rm(second);
  expect(await readFile(link, 'utf8')).toBe('8080');

  await unlinkStackFile(link, first);
  expect(existsSync(link)).toBe(false);
});

it("stays when the stack that ends is not the link's", async () => {
  const first = await aStackFile('8080');
  await linkStackFile(link, await aStackFile('8180'));

  await unlinkStackFile(link, first);

  expect(await readFile(link, 'utf8')).toBe('8180');
});
