import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, symlink, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { aTemporaryFolder } from '../../test/aTemporaryFolder.ts';
import { openSpoolFolder } from './openSpoolFolder.ts';

let dir: string;
beforeEach(async () => {
  dir = await aTemporaryFolder();
});
afterEach(() => rm(dir, { recursive: true }));

it('refuses a folder that another router has, by whatever path it comes, and says what to do', async () => {
  const folder = await openSpoolFolder(dir);
  const detour = `${dir}-detour`;
  await symlink(dir, detour);
  await expect(openSpoolFolder(dir)).rejects.toThrow(/another router uses the spool in .*SPOOL_DIR of its own/);
  await expect(openSpoolFolder(detour)).rejects.toThrow(/another router/);
  await rm(detour);
  await folder.release();
  await (await openSpoolFolder(dir)).release();
});

it('lets a router in right after kill -9 of its predecessor, as the same router', async () => {
  const module = fileURLToPath(new URL('./openSpoolFolder.ts', import.meta.url));
  const program = `const { openSpoolFolder } = await import(${JSON.stringify(module)});
    console.log((await openSpoolFolder(${JSON.stringify(dir)})).routerId); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: {},
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [routerId] = (await once(createInterface(child.stdout), 'line')) as [string];
  await expect(openSpoolFolder(dir)).rejects.toThrow(/another router/);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const folder = await openSpoolFolder(dir);
  expect(folder.routerId).toBe(routerId);
  await folder.release();
});

it('is a new router where its id was cut short by a crash', async () => {
  const first = await openSpoolFolder(dir);
  await first.release();
  await truncate(join(dir, 'router-id'), 5);
  const second = await openSpoolFolder(dir);
  expect(second.routerId).toMatch(/^[0-9a-f-]{36}$/);
  expect(second.routerId).not.toBe(first.routerId);
  await second.release();
});
