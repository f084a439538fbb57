import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rm, symlink, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { openSpoolFolder } from './openSpoolFolder.ts';

let dir: string;
const children: ChildProcess[] = [];
beforeEach(async () => {
  dir = await aTemporaryFolder();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(dir, { recursive: true });
});

it('refuses a folder that another owner has, by whatever path it comes, and says what to do', async () => {
  const folder = await openSpoolFolder(dir);
  const detour = `${dir}-detour`;
  await symlink(dir, detour);
  await expect(openSpoolFolder(dir)).rejects.toThrow(/another process uses the spool in .*SPOOL_DIR of its own/);
  await expect(openSpoolFolder(detour)).rejects.toThrow(/another process/);
  await rm(detour);
  await folder.release();
  await (await openSpoolFolder(dir)).release();
});

/** A process that takes the folder, started by `launcher`; resolves with what it said. */
async function startRouter(launcher: string[] = []): Promise<{ child: ChildProcess; said: string }> {
  const module = fileURLToPath(new URL('./openSpoolFolder.ts', import.meta.url));
  const program = `const { openSpoolFolder } = await import(${JSON.stringify(module)});
    const say = (text) => console.log(text);
    await openSpoolFolder(${JSON.stringify(dir)}).then(({ owner }) => say(owner), ({ message }) => say(message));
    setInterval(() => {}, 1000);`;
  const [command = '', ...args] = [...launcher, process.execPath, '--input-type=module', '-e', program];
  const child = spawn(command, args, { env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [said] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, said };
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

it('lets an owner in right after kill -9 of its predecessor, as the same owner', async () => {
  const { child, said: owner } = await startRouter();
  await expect(openSpoolFolder(dir)).rejects.toThrow(/another process/);
  await kill(child);
  const folder = await openSpoolFolder(dir);
  expect(folder.owner).toBe(owner);
  await folder.release();
});

// A network namespace of its own, as every container has one.
const CONTAINER = ['unshare', '--map-root-user', '--net'];
const canContain = spawnSync('unshare', [...CONTAINER.slice(1), 'true']).status === 0;
if (!canContain) console.warn('NOT TESTED: this machine lets nobody make network namespaces (unshare --net)');

(canContain ? it : it.skip)(
  'refuses a folder that an owner in another container has, until that one ends',
  async () => {
    const { child } = await startRouter(CONTAINER);
    await expect(openSpoolFolder(dir)).rejects.toThrow(/another process/);
    const { child: second, said } = await startRouter(CONTAINER);
    expect(said).toMatch(/another process/);
    await kill(second);
    await expect(openSpoolFolder(dir)).rejects.toThrow(/another process/);
    await kill(child);
    await (await openSpoolFolder(dir)).release();
  },
);

it('says what it wants where the command that locks is missing', async () => {
  const { said } = await startRouter(['env', `PATH=${dir}`]);
  expect(said).toMatch(/command flock .*does not run/);
});

it('is a new owner where its id was cut short by a crash', async () => {
  const first = await openSpoolFolder(dir);
  await first.release();
  await truncate(join(dir, 'owner'), 5);
  const second = await openSpoolFolder(dir);
  expect(second.owner).toMatch(/^[0-9a-f-]{36}$/);
  expect(second.owner).not.toBe(first.owner);
  await second.release();
});
