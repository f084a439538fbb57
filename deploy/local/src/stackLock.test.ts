import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { takeStackLock } from './stackLock.ts';

let stateDir: string;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'turnpike-lock-'));
});
afterEach(() => rm(stateDir, { recursive: true }));

it('refuses a second launcher, saying which one runs, how to stop it and how to run beside it', async () => {
  const lock = await takeStackLock(stateDir, { portBase: 8080 });

  const second = takeStackLock(stateDir, { portBase: 8080 });

  await expect(second).rejects.toThrow(`A stack already runs on port 8080: pid ${process.pid}, since 20`);
  await expect(second).rejects.toThrow(/kill \d+\n.*PORT_BASE=8180 npm start$/);
  await lock.release();
  expect(await takeStackLock(stateDir, { portBase: 8080 })).toMatchObject({ wasAbandoned: false });
});

it('takes over from a launcher that was killed, even if another process has its number by now', async () => {
  await takeStackLock(stateDir, { portBase: 8080 });
  const file = join(stateDir, 'launcher.json');
  const lock = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...lock, start_ticks: '1' }));

  expect(await takeStackLock(stateDir, { portBase: 8080 })).toMatchObject({ wasAbandoned: true });
});

it('gives the lock to one of two launchers that start at the same time', async () => {
  const outcomes = await Promise.allSettled([1, 2].map(() => takeStackLock(stateDir, { portBase: 8080 })));

  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});
