import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { setLogsAside } from './startParts.ts';

let stateDir: string;
let logDir: string;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'turnpike-logs-'));
  logDir = join(stateDir, 'logs');
});
afterEach(() => rm(stateDir, { recursive: true }));

async function writeLog(name: string, text: string): Promise<void> {
  await mkdir(logDir, { recursive: true });
  await writeFile(join(logDir, name), text);
}

it('keeps the logs of the run before, and of no other', async () => {
  await writeLog('edge.2.log', 'first run');
  await setLogsAside(logDir);
  await writeLog('edge.log', 'second run');
  await setLogsAside(logDir);

  expect(await readdir(stateDir)).toEqual(['logs-before']);
  expect(await readdir(`${logDir}-before`)).toEqual(['edge.log']);
  expect(await readFile(join(`${logDir}-before`, 'edge.log'), 'utf8')).toBe('second run');
});

it('has nothing to do before the first run', async () => {
  await setLogsAside(logDir);

  expect(await readdir(stateDir)).toEqual([]);
});
