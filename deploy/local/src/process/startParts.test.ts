import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { toPartEnvironment } from '../toPartEnvironment.ts';
import { waitFor } from '../waitFor.ts';
import { type Part, type PartEnd, type Parts, startParts } from './startParts.ts';

let logDir: string;
let parts: Parts;
let ends: PartEnd[];
beforeEach(async () => {
  logDir = await mkdtemp(join(tmpdir(), 'turnpike-parts-'));
  ends = [];
  parts = startParts({ logDir, env: toPartEnvironment(), onUnexpectedEnd: (end) => ends.push(end) });
});
afterEach(async () => {
  await parts.stop();
  await rm(logDir, { recursive: true });
});

const startShell = (name: string, script: string, layer: number = 0) =>
  parts.start({ name, layer, command: 'sh', args: ['-c', script], stopSignal: 'SIGTERM', hasChannel: false });

const hasSpoken = ({ logFile }: Part): boolean => readFileSync(logFile, 'utf8') !== '';

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

it('reports a part that dies, with how and the end of its log', async () => {
  const part = startShell('frail', 'echo the reason >&2; exit 3');

  await waitFor(async () => ends[0], { timeoutMs: 60_000 });
  expect(ends).toEqual([{ part, how: 'ended with code 3', logTail: '  the reason' }]);
});

it('shows the log of a service as people read it', async () => {
  const entry = {
    ...{ level: 'error', service: 'edge', scope: 'us', time: '2026-11-29T17:00:05.123Z', msg: 'cannot listen' },
    ...{ port: 8080, err: { code: 'EADDRINUSE' } },
  };
  startShell('edge', `echo '${JSON.stringify(entry)}'; echo '{"half'; exit 1`);
  await waitFor(async () => ends[0], { timeoutMs: 60_000 });
  expect(ends[0]?.logTail).toBe('  17:00:05 error cannot listen port=8080 err={"code":"EADDRINUSE"}\n  {"half');
});

it('fails at once, with the log, when a part ends before it is ready', async () => {
  const part = startShell('frail', 'echo no such file; exit 1');

  await expect(parts.untilReady(part, async () => false, 60_000)).rejects.toThrow(
    `frail ended with code 1. The end of its log, ${part.logFile}:\n  no such file`,
  );
});

it('fails when a part does not become ready in time', async () => {
  const part = startShell('slow', 'exec sleep 60');

  await expect(parts.untilReady(part, async () => false, 100)).rejects.toThrow(
    'slow did not become ready within 0.1 s',
  );
});

it('replaces a part that runs and one that has ended, without a word of an end, and waits until it is ready', async () => {
  const first = startShell('server', 'echo up; exec sleep 600');
  await parts.untilReady(first, async (part) => hasSpoken(part));

  const second = await parts.replace('server');
  expect(isAlive(first.pid)).toBe(false);
  expect(hasSpoken(second)).toBe(true);
  expect(ends).toEqual([]);

  process.kill(second.pid, 'SIGKILL');
  await waitFor(async () => ends[0], { timeoutMs: 60_000 });
  const third = await parts.replace('server');
  expect(hasSpoken(third)).toBe(true);
  expect(isAlive(third.pid)).toBe(true);
});

it('replaces no part that it does not have, and lists those it has', async () => {
  for (const name of ['server', 'client']) await parts.untilReady(startShell(name, 'exec sleep 600'), async () => true);
  await expect(parts.replace('sever')).rejects.toThrow('There is no part "sever". The parts are client, server.');
});

it('reports a command that does not exist', async () => {
  parts.start({
    name: 'missing',
    layer: 0,
    command: join(logDir, 'nothing'),
    args: [],
    stopSignal: 'SIGTERM',
    hasChannel: false,
  });

  const end = await waitFor(async () => ends[0], { timeoutMs: 60_000 });
  expect(end?.how).toMatch(/^could not be started: .*ENOENT/);
});

it('stops the layers from the highest down, each when the one above has ended', async () => {
  const events = join(logDir, 'events');
  const scriptOf = (layer: number) =>
    `trap "echo ${layer} told >> ${events}; sleep 0.2; echo ${layer} ends >> ${events}; exit" TERM; echo up; while :; do sleep 0.05; done`;
  const started = [0, 1, 2].map((layer) => startShell(`layer${layer}`, scriptOf(layer), layer));
  await waitFor(async () => started.every(hasSpoken) || undefined, { timeoutMs: 60_000 });
  await parts.stop();

  expect(started.some(({ pid }) => isAlive(pid))).toBe(false);
  expect(readFileSync(events, 'utf8')).toBe('2 told\n2 ends\n1 told\n1 ends\n0 told\n0 ends\n');
  expect(ends).toEqual([]);
});

it('kills at once what it waits for when told to hurry, and what is left to stop, but for the stores', async () => {
  const stubborn = 'trap "" TERM; echo deaf; while :; do sleep 0.05; done';
  const deaf = [3, 2].map((layer) => startShell(`deaf${layer}`, stubborn, layer));
  const store = startShell('store', 'trap "exit 7" TERM; echo open; while :; do sleep 0.05; done', 0);
  await waitFor(async () => [...deaf, store].every(hasSpoken) || undefined, { timeoutMs: 60_000 });

  const hurry = new AbortController();
  const stopped = parts.stop(hurry.signal);
  hurry.abort();
  await stopped;

  expect(deaf.map((part) => part.endedBy())).toEqual(['was ended by SIGKILL', 'was ended by SIGKILL']);
  expect(store.endedBy()).toBe('ended with code 7');
});

it('starts nothing more once it has been told to stop', async () => {
  await parts.stop();

  expect(() => startShell('late', 'exec sleep 60')).toThrow('The stack was stopped.');
  await expect(parts.run('A late step', { command: 'sleep', args: ['60'] })).rejects.toThrow('The stack was stopped.');
});

it('starts a part that has ended again, by the same command, and keeps what it said before', async () => {
  const first = startShell('phoenix', 'echo up as $$; exec sleep 60');
  const isUp = async ({ logFile, pid }: Part) => readFileSync(logFile, 'utf8') === `up as ${pid}\n`;
  await parts.untilReady(first, isUp, 60_000);
  process.kill(first.pid, 'SIGKILL');
  await waitFor(async () => first.endedBy(), { timeoutMs: 60_000 });

  const second = await parts.restart('phoenix');

  expect(second.pid).not.toBe(first.pid);
  expect([first, second].map(({ logFile }) => logFile)).toEqual([
    join(logDir, 'phoenix.log'),
    join(logDir, 'phoenix.2.log'),
  ]);
  expect(await isUp(first)).toBe(true);
  await parts.stop();
  expect(isAlive(second.pid)).toBe(false);
});

it('starts a process as a part was started, by another name, with other variables', async () => {
  const first = startShell('twin', 'echo "$MOOD"; exec sleep 60');
  const second = parts.startLike('twin', { name: 'other', env: { MOOD: 'cross' } });
  const hasSaid = (part: Part, text: string) =>
    parts.untilReady(part, async ({ logFile }) => readFileSync(logFile, 'utf8') === text, 60_000);
  await hasSaid(first, '\n');
  await hasSaid(second, 'cross\n');
  expect(() => parts.startLike('nobody', { name: 'other', env: {} })).toThrow('There is no part nobody');
});

it('refuses to start a part again that it does not know', async () => {
  await expect(parts.restart('nobody')).rejects.toThrow('There is no part nobody');
});
