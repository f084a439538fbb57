import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync, truncateSync } from 'node:fs';
import { appendFile, type FileHandle, open, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { until } from '@turnpike/test-support/until';
import { Spool } from './spool.ts';

const MAX_BYTES = 64 * 1_048_576;
const log = aSilentLogger();
let dir: string;
let running: Spool[];
beforeEach(async () => {
  dir = await aTemporaryFolder();
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((spool) => spool.close().catch(() => {})));
  await rm(dir, { recursive: true });
});

/** Events are released by their text. */
const idOf = (json: string): string => json;

async function openSpool(maxBytes = MAX_BYTES): Promise<{ spool: Spool; left: string[] }> {
  const { spool, left } = await Spool.open({ dir, maxBytes, log, idOf });
  running.push(spool);
  return { spool, left: left.map(({ json }) => json) };
}

/** Reads the events left by a crash. The former spool is never closed in order. */
const readLeft = async (): Promise<string[]> => (await openSpool()).left;

const segments = async (): Promise<string[]> => (await readdir(dir)).sort();
async function segmentAt(index: number): Promise<string> {
  const name = (await segments())[index];
  if (name === undefined) throw new Error('no such segment');
  return join(dir, name);
}
const anEvent = (number: number, bytes = 20): string => JSON.stringify({ number, filler: 'ß'.repeat(bytes / 2) });
const append = (spool: Spool, event: string): Promise<void> => spool.append(idOf(event), event);
const appendAll = (spool: Spool, events: string[]): Promise<unknown> =>
  Promise.all(events.map((event) => append(spool, event)));

it('gives back what was appended, in its order, again and again until it is released', async () => {
  const { spool } = await openSpool();
  const events = Array.from({ length: 250 }, (_, number) => anEvent(number));
  await appendAll(spool, events);
  expect(await readLeft()).toEqual(events);
  expect(await readLeft()).toEqual(events);
});

it('counts as waiting what is not released, and no more', async () => {
  const { spool } = await openSpool();
  const [first, second] = [anEvent(1), anEvent(2)];
  await appendAll(spool, [first, second]);
  const all = spool.waitingBytes;
  expect(all).toBe(Buffer.byteLength(first) + Buffer.byteLength(second));
  spool.release(first);
  spool.release(first);
  expect(spool.waitingBytes).toBe(all / 2);
  expect(spool.isEmpty).toBe(false);
  spool.release(second);
  expect(spool.waitingBytes).toBe(0);
  await until('nothing is written any more', () => spool.isEmpty);
});

it('counts an event once that is appended again, and is done with it once it is released', async () => {
  const { spool } = await openSpool();
  for (let time = 0; time < 2; time += 1) await append(spool, '"again"');
  expect(spool.waitingBytes).toBe('"again"'.length);
  spool.release('"again"');
  expect(spool.waitingBytes).toBe(0);
  await until('it is done with it', () => spool.isEmpty);
});

it('gives what former processes left before what is new, and no more of a file that is released', async () => {
  const first = await openSpool();
  await appendAll(first.spool, ['1', '2']);
  const second = await openSpool();
  expect(second.left).toEqual(['1', '2']);
  await append(second.spool, '3');
  second.spool.release('1');
  second.spool.release('2');
  await until('the first file is gone', async () => (await segments()).length === 1);
  expect(await readLeft()).toEqual(['3']);
});

it('leaves no file behind of which nothing waits', async () => {
  const { spool } = await openSpool();
  await append(spool, '1');
  spool.release('1');
  await spool.close();
  expect(await segments()).toEqual([]);
});

it('keeps its files when it closes with events that wait', async () => {
  const { spool } = await openSpool();
  await append(spool, '1');
  await spool.close();
  expect(await readLeft()).toEqual(['1']);
});

it('has removed at its end a segment that was made for events to come', async () => {
  const { spool } = await openSpool();
  await append(spool, anEvent(1, 1_100_000));
  await until('the next segment is made', async () => (await segments()).length === 2);
  await spool.close();
  // Read at once: what opens the folder next must not meet a file that is going.
  expect(readdirSync(dir)).toEqual(['0000000001.spool']);
});

describe('after damage', () => {
  it('leaves out a line torn by a crash', async () => {
    await appendAll((await openSpool()).spool, ['1', '2', '3']);
    const path = await segmentAt(0);
    const { length } = await readFile(path);
    await truncate(path, length - 3);
    expect(await readLeft()).toEqual(['1', '2']);
  });

  it('leaves out a line with a changed byte and gives the others', async () => {
    await appendAll((await openSpool()).spool, ['"one"', '"two"', '"three"']);
    const path = await segmentAt(0);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace('two', 'twx'));
    expect(await readLeft()).toEqual(['"one"', '"three"']);
  });

  it('finds the events behind two megabytes that hold no line', async () => {
    await appendAll((await openSpool()).spool, ['1', '2']);
    const path = await segmentAt(0);
    const lines = (await readFile(path, 'utf8')).split('\n');
    await writeFile(path, `${lines[0]}\n${'\0'.repeat(2_500_000)}\n${lines[1]}\n`);
    expect(await readLeft()).toEqual(['1', '2']);
  });

  it('takes no other file for its own', async () => {
    await writeFile(join(dir, 'notes.txt'), 'hello\n');
    expect(await readLeft()).toEqual([]);
    expect(await segments()).toContain('notes.txt');
  });
});

describe('a large backlog', () => {
  const events = Array.from({ length: 12_000 }, (_, number) => anEvent(number, 1_000));
  const appendInGroups = async (spool: Spool): Promise<void> => {
    for (let start = 0; start < events.length; start += 1_000)
      await appendAll(spool, events.slice(start, start + 1_000));
  };
  const areLeft = (count: number) => until('other files are gone', async () => (await segments()).length === count);

  it('goes on in new segments, each of which goes when all of its events are released', async () => {
    const { spool } = await openSpool();
    await appendInGroups(spool);
    expect((await segments()).length).toBeGreaterThan(2);
    // Another spool would take the same number for its first segment.
    await until('the segment for what follows is made', async () => {
      const newest = (await segments()).at(-1) ?? '';
      return statSync(join(dir, newest)).size === 0;
    });
    const { left } = await openSpool();
    expect(left).toEqual(events);
    for (const event of events) spool.release(event);
    expect(spool.waitingBytes).toBe(0);
    // The newest of the first spool, and that of the second.
    await areLeft(2);
  });

  it('goes on behind a number whose file is there already, as of a segment that the disk made and refused', async () => {
    const { spool } = await openSpool();
    await writeFile(join(dir, '0000000002.spool'), '');
    await appendInGroups(spool);
    expect(await segments()).toContain('0000000004.spool');
    await spool.close();
    expect(await readLeft()).toEqual(events);
  });

  it('keeps no room for all the others of a segment of which few wait, as of a call that is never recorded', async () => {
    const { spool } = await openSpool();
    const [first = '', ...others] = events;
    await append(spool, first);
    for (let start = 0; start < others.length; start += 1_000) {
      const some = others.slice(start, start + 1_000);
      await appendAll(spool, some);
      for (const event of some) spool.release(event);
    }
    await until('other files are gone', async () => (await segments()).length <= 3);
    expect(spool.bytes).toBeLessThan(9 * 1_048_576);
    expect(spool.waitingBytes).toBe(Buffer.byteLength(first));
    await spool.close();
    expect(await readLeft()).toContain(first);
  });
});

/** Watches flushes. Keeps the content on the disk itself at the last flush of each file, keyed by inode. */
async function watchFlushes(): Promise<{ cutPower(): void; restore(): void }> {
  const handle = await open(dir, 'r');
  const prototype = Object.getPrototypeOf(handle) as { datasync: () => Promise<void> };
  await handle.close();
  const { datasync: whole } = prototype;
  const flushed = new Map<number, number>();
  prototype.datasync = async function watched(this: FileHandle): Promise<void> {
    const { ino, size } = await this.stat();
    await whole.call(this);
    flushed.set(ino, size);
  };
  return {
    cutPower() {
      for (const name of readdirSync(dir)) {
        const path = join(dir, name);
        truncateSync(path, flushed.get(statSync(path).ino) ?? 0);
      }
    },
    restore: () => Object.assign(prototype, { datasync: whole }),
  };
}

it('has an event on the disk all the time that is written anew to another file', async () => {
  const disk = await watchFlushes();
  try {
    const { spool } = await openSpool();
    await append(spool, '"never recorded"');
    const first = await segmentAt(0);
    let isGone = false;
    const cutting = (async () => {
      while (existsSync(first)) await new Promise((resolve) => setImmediate(resolve));
      isGone = true;
      disk.cutPower();
    })();
    for (let number = 0; !isGone; number += 1) {
      const event = anEvent(number, 400_000);
      await append(spool, event);
      spool.release(event);
    }
    await cutting;
    await spool.close();
    expect(await readLeft()).toContain('"never recorded"');
  } finally {
    disk.restore();
  }
});

it('says that it is full at nine tenths, and takes what still comes', async () => {
  const { spool } = await openSpool(10_000);
  for (let number = 0; spool.bytes < 8_900; number += 1) await append(spool, `"${number} ${'x'.repeat(40)}"`);
  expect(spool.isFull).toBe(false);
  await append(spool, 'x'.repeat(200));
  expect(spool.isFull).toBe(true);
  await append(spool, 'the last one');
  expect((await readLeft()).at(-1)).toBe('the last one');
});

it('is not filled by events that are set aside, and keeps them until they are released', async () => {
  const { spool } = await openSpool(10_000);
  const events = Array.from({ length: 10 }, (_, number) => anEvent(number, 1_000));
  await appendAll(spool, events);
  expect(spool.isFull).toBe(true);
  for (const event of events) spool.setAside(event);
  expect(spool.isFull).toBe(false);
  expect(events.filter((event) => spool.isSetAside(event))).toEqual(events);
  expect(await readLeft()).toEqual(events);
  for (const event of events) spool.release(event);
  expect(spool.waitingBytes).toBe(0);
  await until('it is done with them', () => spool.isEmpty);
});

it('is full once what is set aside is more than as much again', async () => {
  const { spool } = await openSpool(10_000);
  const events = Array.from({ length: 22 }, (_, number) => anEvent(number, 1_000));
  await appendAll(spool, events);
  for (const event of events) spool.setAside(event);
  expect(spool.isFull).toBe(true);
});

describe('with events that are never recorded', () => {
  const STUCK_BYTES = 1_000;
  /** Sends so many events through the spool, of which each fortieth stays. */
  async function pass(spool: Spool, count: number): Promise<string[]> {
    const stuck: string[] = [];
    for (let start = 0; start < count; start += 400) {
      const some = Array.from({ length: 400 }, (_, index) => anEvent(start + index, STUCK_BYTES));
      await appendAll(spool, some);
      for (const [index, event] of some.entries()) {
        if (index % 40 === 0) stuck.push(event);
        else spool.release(event);
      }
    }
    return stuck;
  }

  it('is not filled by one event in forty that stays, nor when it is opened again', async () => {
    const { spool } = await openSpool(16 * 1_048_576);
    const stuck = await pass(spool, 20_000);
    await until('segments are rewritten', () => spool.bytes < 4 * spool.waitingBytes + 2 * 1_048_576 + 400_000);
    expect(spool.isFull).toBe(false);
    await spool.close();
    const again = await openSpool(16 * 1_048_576);
    expect(new Set(again.left).isSupersetOf(new Set(stuck))).toBe(true);
    expect(again.left.length).toBeLessThan(4 * stuck.length + 3_000);
  });

  it('knows what was set aside when it is opened again, apart from what fills it', async () => {
    const { spool } = await openSpool();
    const events = Array.from({ length: 2_000 }, (_, number) => anEvent(-1 - number, STUCK_BYTES));
    await appendAll(spool, events);
    for (const event of events) spool.setAside(event);
    // A segment is closed once another one follows.
    for (let number = 0; number < 3; number += 1) await pass(spool, 400);
    await until('all are moved', async () => (await segments()).some((name) => name.endsWith('.aside')));
    await until('nothing else counts', () => spool.bytes < 2 * 1_048_576);
    await spool.close();
    const again = await openSpool();
    expect(new Set(again.left).isSupersetOf(new Set(events))).toBe(true);
    expect(events.filter((event) => !again.spool.isSetAside(event)).length).toBe(0);
    expect(again.spool.bytes).toBeLessThan(2 * 1_048_576);
    for (const event of again.left) again.spool.release(event);
    await again.spool.close();
    expect(await segments()).toEqual([]);
  });
});

describe('when the disk refuses a write', () => {
  /** Makes the next write of the spool fail after `bytes` of it, as a full disk does. */
  async function tearNextWrite(bytes: number): Promise<void> {
    const handle = await open(await segmentAt(0), 'r');
    const prototype = Object.getPrototypeOf(handle) as { appendFile: (data: Buffer) => Promise<void> };
    await handle.close();
    const { appendFile: whole } = prototype;
    prototype.appendFile = async function torn(this: unknown, data: Buffer): Promise<void> {
      prototype.appendFile = whole;
      await appendFile(await segmentAt(0), data.subarray(0, bytes));
      throw new Error('ENOSPC');
    };
  }

  it('rejects the append, admits no call for a while, and loses nothing that comes after', async () => {
    const { spool } = await openSpool();
    await append(spool, '"before"');
    await tearNextWrite(11);
    await expect(append(spool, '"refused"')).rejects.toThrow('ENOSPC');
    expect([spool.isFull, spool.isRefused, spool.diskFault]).toEqual([true, true, 'refuses writes: ENOSPC']);
    await append(spool, '"after"');
    await append(spool, '"last"');
    expect([spool.isFull, spool.isRefused, spool.diskFault]).toEqual([false, false, undefined]);
    expect(await readLeft()).toEqual(['"before"', '"after"', '"last"']);
  });

  it('admits calls again once the disk takes a file of its own, though no call ends', async () => {
    const { spool } = await openSpool();
    await append(spool, '"before"');
    await tearNextWrite(0);
    await expect(append(spool, '"refused"')).rejects.toThrow('ENOSPC');
    expect(spool.isFull).toBe(true);
    await until('calls to be admitted', () => !spool.isFull);
    expect(await readLeft()).toEqual(['"before"']);
  });
});

describe('when the disk fails to flush', () => {
  let flushes: { failed: number; isFailing: boolean; restore(): void };
  beforeEach(async () => {
    const handle = await open(dir, 'r');
    const prototype = Object.getPrototypeOf(handle) as { datasync: () => Promise<void> };
    await handle.close();
    const { datasync: whole } = prototype;
    flushes = { failed: 0, isFailing: true, restore: () => Object.assign(prototype, { datasync: whole }) };
    prototype.datasync = function failing(this: unknown): Promise<void> {
      if (!flushes.isFailing) return whole.call(this);
      flushes.failed += 1;
      return Promise.reject(new Error('EIO'));
    };
  });
  afterEach(() => flushes.restore());

  const hasFailed = (times: number) => until('flushes have failed', () => flushes.failed >= times);
  const isTaken = (spool: Spool) => until('calls are admitted', () => !spool.isFull);
  /** Two spools at once, as no service has, would both remove the file. */
  const isGivenUpGone = () => until('the file that was given up is gone', async () => (await segments()).length === 1);

  it('writes anew what may be lost, and admits no call before that is on the disk', async () => {
    const { spool } = await openSpool();
    await appendAll(spool, ['"one"', '"two"']);
    await hasFailed(1);
    expect(spool.isFull).toBe(true);
    // The system has dropped what it could not write, and every flush from now on succeeds without it.
    await truncate(await segmentAt(0), 0);
    flushes.isFailing = false;
    await isTaken(spool);
    await append(spool, '"three"');
    await isGivenUpGone();
    expect(await readLeft()).toEqual(['"one"', '"two"', '"three"']);
  });

  it('takes no event and admits no call for as long as it goes on', async () => {
    const { spool } = await openSpool();
    await append(spool, '"before"');
    await hasFailed(1);
    await expect(append(spool, '"refused"')).rejects.toThrow('EIO');
    await hasFailed(4);
    await truncate(await segmentAt(0), 0);
    expect(spool.isFull).toBe(true);
    expect(spool.isEmpty).toBe(false);
    flushes.isFailing = false;
    await isTaken(spool);
    await append(spool, '"after"');
    await isGivenUpGone();
    expect(await readLeft()).toEqual(['"before"', '"after"']);
    for (const event of ['"before"', '"after"']) spool.release(event);
    await until('it is done with them', () => spool.isEmpty);
  });

  it('writes nothing anew that was released meanwhile', async () => {
    const { spool } = await openSpool();
    await append(spool, '"recorded"');
    // The first try to write it anew has failed as well.
    await hasFailed(2);
    spool.release('"recorded"');
    expect(spool.isFull).toBe(true);
    await truncate(await segmentAt(0), 0);
    flushes.isFailing = false;
    await isTaken(spool);
    await isGivenUpGone();
    expect(await readLeft()).toEqual([]);
  });

  it('writes anew at its end what may be lost', async () => {
    const { spool } = await openSpool();
    await append(spool, '"last"');
    await hasFailed(1);
    await truncate(await segmentAt(0), 0);
    flushes.isFailing = false;
    await spool.close();
    expect(await readLeft()).toEqual(['"last"']);
  });
});

it('loses no event whose append had resolved when the process is killed', async () => {
  const script = `
    const { Spool } = await import(${JSON.stringify(new URL('./spool.ts', import.meta.url).href)});
    const log = { error() {}, warn() {} };
    const { spool } = await Spool.open({ dir: ${JSON.stringify(dir)}, maxBytes: ${MAX_BYTES}, log, idOf: (json) => json });
    for (let number = 0; ; number += 8) {
      const some = Array.from({ length: 8 }, (_, index) => number + index);
      await Promise.all(some.map((each) => spool.append(String(each), JSON.stringify({ number: each }))));
      process.stdout.write(some.map((each) => each + '\\n').join(''));
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const resolved: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    resolved.push(Number(line));
    if (resolved.length === 4_000) child.kill('SIGKILL');
  }
  await ended;
  const kept = new Set((await readLeft()).map((event) => JSON.parse(event).number as number));
  expect(resolved.length).toBeGreaterThanOrEqual(4_000);
  expect(resolved.filter((number) => !kept.has(number))).toEqual([]);
});
