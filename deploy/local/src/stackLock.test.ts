import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { takeStackLock } from './stackLock.ts';

const MODULE = new URL('./stackLock.ts', import.meta.url).href;

let stateDir: string;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'turnpike-lock-'));
});
afterEach(() => rm(stateDir, { recursive: true }));

/** A process of its own that takes the lock and is then killed, so that it gives nothing back. */
async function launchAndKill(): Promise<void> {
  const program = `
    import { takeStackLock } from '${MODULE}';
    await takeStackLock(process.argv[1], { portBase: 8080 });
    console.log('taken');
    setInterval(() => undefined, 1000);`;
  const launcher = spawn(process.execPath, ['--input-type=module', '--eval', program, stateDir]);
  await once(launcher.stdout, 'data');
  const { pid } = launcher;
  await expect(takeStackLock(stateDir, { portBase: 8080 })).rejects.toThrow(`pid ${pid}, since 20`);
  launcher.kill('SIGKILL');
  await once(launcher, 'exit');
}

it('refuses a second launcher, saying which one runs, how to stop it and how to run beside it', async () => {
  const lock = await takeStackLock(stateDir, { portBase: 8080 });

  const second = takeStackLock(stateDir, { portBase: 8080 });

  await expect(second).rejects.toThrow(`A stack already runs on port 8080: pid ${process.pid}, since 20`);
  await expect(second).rejects.toThrow(/kill \d+\n.*PORT_BASE=8280 npm start$/);
  await lock.release();
  const third = await takeStackLock(stateDir, { portBase: 8080 });
  expect(third).toMatchObject({ wasAbandoned: false });
  await third.release();
});

it('takes over from a launcher that was killed', async () => {
  await launchAndKill();

  const lock = await takeStackLock(stateDir, { portBase: 8080 });

  expect(lock).toMatchObject({ wasAbandoned: true });
  await lock.release();
});

it.each([
  ['on a directory never used', async () => undefined],
  ['after one that was killed', launchAndKill],
])('gives the lock to one of many launchers that start at the same time, %s', async (_when, before) => {
  await before();

  const starts = Array.from({ length: 20 }, () => takeStackLock(stateDir, { portBase: 8080 }));

  const outcomes = await Promise.allSettled(starts);
  const taken = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  expect(taken).toHaveLength(1);
  await taken[0]?.release();
});
