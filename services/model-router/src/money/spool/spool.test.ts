import { spawn } from 'node:child_process';
import { appendFile, open, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { aSilentLogger } from '../../../test/aSilentLogger.ts';
import { aTemporaryFolder } from '../../../test/aTemporaryFolder.ts';
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

async function openSpool(maxBytes = MAX_BYTES): Promise<Spool> {
  const spool = await Spool.open({ dir, maxBytes, log });
  running.push(spool);
  return spool;
}

/** A spool as a crash leaves it, opened anew: the former one is never closed in order. */
const reopened = openSpool;

async function readAll(spool: Spool, { acknowledge = true, maxEvents = 100 } = {}): Promise<string[]> {
  const events: string[] = [];
  for (;;) {
    const batch = await spool.readBatch(maxEvents);
    if (!batch) return events;
    events.push(...batch.events);
    if (!acknowledge) return events;
    await batch.acknowledge();
  }
}

const segments = async (): Promise<string[]> => (await readdir(dir)).sort();
async function segmentAt(index: number): Promise<string> {
  const name = (await segments())[index];
  if (name === undefined) throw new Error('no such segment');
  return join(dir, name);
}
const anEvent = (number: number, bytes = 20): string => JSON.stringify({ number, filler: 'ß'.repeat(bytes / 2) });
const appendAll = (spool: Spool, events: string[]): Promise<unknown> =>
  Promise.all(events.map((event) => spool.append(event)));

it('gives back what was appended, in its order', async () => {
  const spool = await openSpool();
  const events = Array.from({ length: 250 }, (_, number) => anEvent(number));
  await appendAll(spool, events);
  expect(await readAll(spool)).toEqual(events);
  expect(spool.hasUnread).toBe(false);
});

it('gives the same events again until they are acknowledged', async () => {
  const spool = await openSpool();
  await appendAll(spool, ['1', '2', '3']);
  expect((await spool.readBatch(2))?.events).toEqual(['1', '2']);
  const batch = await spool.readBatch(2);
  expect(batch?.events).toEqual(['1', '2']);
  await batch?.acknowledge();
  expect((await spool.readBatch(2))?.events).toEqual(['3']);
});

it('counts as waiting what is not acknowledged, and no more', async () => {
  const spool = await openSpool();
  await appendAll(spool, [anEvent(1), anEvent(2)]);
  const [first, all] = [await spool.readBatch(1), spool.unacknowledgedBytes];
  expect(all).toBe(spool.bytes);
  await first?.acknowledge();
  expect(spool.unacknowledgedBytes).toBe(all / 2);
  await readAll(spool);
  expect(spool.unacknowledgedBytes).toBe(0);
});

it('still holds after a restart what was not acknowledged, and gives it before what is new', async () => {
  const first = await openSpool();
  await appendAll(first, ['1', '2']);
  const second = await reopened();
  await second.append('3');
  expect(await readAll(second)).toEqual(['1', '2', '3']);
  const third = await reopened();
  await third.append('4');
  expect(await readAll(third)).toEqual(['3', '4']);
});

it('leaves no file behind that has nothing unread', async () => {
  const spool = await Spool.open({ dir, maxBytes: MAX_BYTES, log });
  await spool.append('1');
  await readAll(spool);
  await spool.close();
  expect(await segments()).toEqual([]);
});

it('keeps its files when it closes with events unread', async () => {
  const spool = await Spool.open({ dir, maxBytes: MAX_BYTES, log });
  await spool.append('1');
  await spool.close();
  expect(await readAll(await reopened())).toEqual(['1']);
});

describe('after damage', () => {
  it('leaves out a line torn by a crash', async () => {
    await appendAll(await openSpool(), ['1', '2', '3']);
    const path = await segmentAt(0);
    const { length } = await readFile(path);
    await truncate(path, length - 3);
    expect(await readAll(await reopened())).toEqual(['1', '2']);
  });

  it('leaves out a line with a changed byte and gives the others', async () => {
    await appendAll(await openSpool(), ['"one"', '"two"', '"three"']);
    const path = await segmentAt(0);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace('two', 'twx'));
    expect(await readAll(await reopened())).toEqual(['"one"', '"three"']);
  });

  it('finds the events behind two megabytes that hold no line', async () => {
    await appendAll(await openSpool(), ['1', '2']);
    const path = await segmentAt(0);
    const lines = (await readFile(path, 'utf8')).split('\n');
    await writeFile(path, `${lines[0]}\n${'\0'.repeat(2_500_000)}\n${lines[1]}\n`);
    expect(await readAll(await reopened())).toEqual(['1', '2']);
  });

  it('takes no other file for its own', async () => {
    await writeFile(join(dir, 'notes.txt'), 'hello\n');
    expect(await readAll(await openSpool())).toEqual([]);
    expect(await segments()).toContain('notes.txt');
  });
});

describe('a large backlog', () => {
  const events = Array.from({ length: 12_000 }, (_, number) => anEvent(number, 1_000));

  it('goes on in new segments, which go when all of theirs is acknowledged', async () => {
    const spool = await openSpool();
    for (let start = 0; start < events.length; start += 1_000)
      await appendAll(spool, events.slice(start, start + 1_000));
    expect((await segments()).length).toBeGreaterThan(2);
    expect(await readAll(spool, { maxEvents: 500 })).toEqual(events);
    expect((await segments()).length).toBe(1);
  });

  it('goes on behind a number whose file is there already, as of a segment that the disk made and refused', async () => {
    const spool = await openSpool();
    await writeFile(join(dir, '0000000002.spool'), '');
    const events = Array.from({ length: 24 }, (_, number) => anEvent(number, 400_000));
    for (const event of events) await spool.append(event);
    expect(await segments()).toEqual(['0000000001.spool', '0000000002.spool', '0000000003.spool', '0000000004.spool']);
    expect(await readAll(spool)).toEqual(events);
    expect(spool.hasUnread).toBe(false);
  });

  it('loses nothing to two readers at once, which may get events twice', async () => {
    const spool = await openSpool();
    for (let start = 0; start < events.length; start += 1_000)
      await appendAll(spool, events.slice(start, start + 1_000));
    const seen = new Set<string>();
    while (spool.hasUnread) {
      const [batch] = await Promise.all([spool.readBatch(500), spool.readBatch(1)]);
      for (const event of batch?.events ?? []) seen.add(event);
      await batch?.acknowledge();
    }
    expect(seen.size).toBe(events.length);
  });
});

it('says that it is full at nine tenths, and takes what still comes', async () => {
  const spool = await openSpool(10_000);
  while (spool.bytes < 8_900) await spool.append('x'.repeat(40));
  expect(spool.isFull).toBe(false);
  await spool.append('x'.repeat(200));
  expect(spool.isFull).toBe(true);
  await spool.append('the last one');
  expect((await readAll(spool)).at(-1)).toBe('the last one');
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
    const spool = await openSpool();
    await spool.append('"before"');
    await tearNextWrite(11);
    await expect(spool.append('"refused"')).rejects.toThrow('ENOSPC');
    expect(spool.isFull).toBe(true);
    await spool.append('"after"');
    await spool.append('"last"');
    expect(spool.isFull).toBe(false);
    expect(await readAll(spool)).toEqual(['"before"', '"after"', '"last"']);
    expect(spool.hasUnread).toBe(false);
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

  it('writes anew what may be lost, and admits no call before that is on the disk', async () => {
    const spool = await openSpool();
    await appendAll(spool, ['"one"', '"two"']);
    await hasFailed(1);
    expect(spool.isFull).toBe(true);
    // The system has dropped what it could not write, and every flush from now on succeeds without it.
    await truncate(await segmentAt(0), 0);
    flushes.isFailing = false;
    await isTaken(spool);
    await spool.append('"three"');
    expect(await readAll(await reopened())).toEqual(['"one"', '"two"', '"three"']);
  });

  it('takes no event and admits no call for as long as it goes on', async () => {
    const spool = await openSpool();
    await spool.append('"before"');
    await hasFailed(1);
    await expect(spool.append('"refused"')).rejects.toThrow('EIO');
    await hasFailed(4);
    await truncate(await segmentAt(0), 0);
    expect(spool.isFull).toBe(true);
    expect(spool.hasUnread).toBe(true);
    flushes.isFailing = false;
    await isTaken(spool);
    await spool.append('"after"');
    expect(await readAll(spool)).toEqual(['"before"', '"after"']);
    expect(spool.hasUnread).toBe(false);
    expect(await segments()).toHaveLength(1);
  });

  it('waits for nothing that the event log has meanwhile', async () => {
    const spool = await openSpool();
    await spool.append('"sent"');
    await hasFailed(1);
    expect(await readAll(spool)).toEqual(['"sent"']);
    await until('no write is under way', () => !spool.hasUnread);
    expect(spool.isFull).toBe(true);
    flushes.isFailing = false;
    await isTaken(spool);
    expect(await readAll(spool)).toEqual([]);
  });

  it('writes anew at its end what may be lost', async () => {
    const spool = await openSpool();
    await spool.append('"last"');
    await hasFailed(1);
    await truncate(await segmentAt(0), 0);
    flushes.isFailing = false;
    await spool.close();
    expect(await readAll(await reopened())).toEqual(['"last"']);
  });
});

it('wakes who waits as soon as something is appended', async () => {
  const spool = await openSpool();
  const startedAt = performance.now();
  const waiting = spool.waitForAppend(20_000);
  await spool.append('1');
  await waiting;
  await spool.waitForAppend(20_000);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

it('loses no event whose append had resolved when the process is killed', async () => {
  const script = `
    const { Spool } = await import(${JSON.stringify(new URL('./spool.ts', import.meta.url).href)});
    const log = { error() {}, warn() {} };
    const spool = await Spool.open({ dir: ${JSON.stringify(dir)}, maxBytes: ${MAX_BYTES}, log });
    for (let number = 0; ; number += 8) {
      const some = Array.from({ length: 8 }, (_, index) => number + index);
      await Promise.all(some.map((each) => spool.append(JSON.stringify({ number: each }))));
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
  const kept = new Set((await readAll(await openSpool())).map((event) => JSON.parse(event).number as number));
  expect(resolved.length).toBeGreaterThanOrEqual(4_000);
  expect(resolved.filter((number) => !kept.has(number))).toEqual([]);
});
