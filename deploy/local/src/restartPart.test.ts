import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Part } from './process/startParts.ts';
import { askRestart, serveRestarts } from './restartPart.ts';
import { StackError } from './stackError.ts';

let stateDir: string;
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'turnpike-restart-'));
});
afterEach(() => rm(stateDir, { recursive: true }));

const aPart = (name: string): Part => ({ name, pid: 7, logFile: `/logs/${name}.2.log`, endedBy: () => undefined });
const ask = (part: string) => askRestart(stateDir, part, 9_000);

it('restarts the part that another process names, and says its pid and its log', async () => {
  await serveRestarts(stateDir, async (name) => aPart(name));
  expect(await ask('auth')).toMatch(/^auth runs again after \d+\.\d s, as pid 7\. Its log is \/logs\/auth\.2\.log$/);
});

it('passes on why a part did not come back', async () => {
  await serveRestarts(stateDir, async () => {
    throw new StackError('auth ended with code 1.');
  });
  await expect(ask('auth')).rejects.toThrow('auth ended with code 1.');
});

it('restarts one part after the other', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const steps: string[] = [];
  await serveRestarts(stateDir, async (name) => {
    steps.push(`begin ${name}`);
    await released;
    steps.push(`end ${name}`);
    return aPart(name);
  });
  const both = Promise.all([ask('auth'), ask('edge')]);
  release();
  await both;
  expect(steps.map((step) => step.split(' ')[0])).toEqual(['begin', 'end', 'begin', 'end']);
});

it('says so where no stack runs', async () => {
  await expect(ask('auth')).rejects.toThrow('No stack runs on port 9000. PORT_BASE names another one.');
});
