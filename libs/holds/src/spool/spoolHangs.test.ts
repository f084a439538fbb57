import { readdir, rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { until } from '@turnpike/test-support/until';
import { type DiskTrouble, troubleDisk } from '../../test/troubleDisk.ts';
import { Spool } from './spool.ts';

let dir: string;
let disk: DiskTrouble;
let running: Spool[];
let errors: string[];
beforeEach(async () => {
  dir = await aTemporaryFolder();
  disk = await troubleDisk(dir);
  running = [];
  errors = [];
});
afterEach(async () => {
  disk.restore();
  await Promise.all(running.map((spool) => spool.close().catch(() => {})));
  await rm(dir, { recursive: true });
});

async function openSpool(): Promise<{ spool: Spool; left: string[] }> {
  const log = Object.assign(aSilentLogger(), { error: (_: unknown, message: string) => void errors.push(message) });
  const { spool, left } = await Spool.open({ dir, maxBytes: 1_000_000, log, idOf: (json) => json });
  running.push(spool);
  return { spool, left: left.map(({ json }) => json) };
}
const append = (spool: Spool, event: string): Promise<void> => spool.append(event, event);
const isHung = (spool: Spool) => until('the spool sees that its disk hangs', () => spool.isHung);

describe.each(['appendFile', 'datasync'] as const)('a disk whose %s hangs', (operation) => {
  /** Begins an operation that hangs. */
  async function hang(spool: Spool): Promise<void> {
    disk.hanging.add(operation);
    append(spool, '"begun"').catch(() => {});
    await until('an operation hangs', () => disk.held > 0);
  }

  it('admits no call, refuses events at once and piles up nothing, and says so once', async () => {
    const { spool } = await openSpool();
    await hang(spool);
    await isHung(spool);
    expect(spool.isFull).toBe(true);
    expect(spool.diskFault).toContain('hangs');
    for (let number = 0; number < 20; number += 1)
      await expect(append(spool, `"${number}"`)).rejects.toThrow("the spool's disk hangs");
    expect(disk.held).toBe(1);
    expect(errors).toEqual([expect.stringContaining('ALERT spool disk hangs')]);
  });

  it('admits calls and takes events once it answers, and loses and doubles none', async () => {
    const { spool } = await openSpool();
    await append(spool, '"before"');
    await hang(spool);
    await isHung(spool);
    await expect(append(spool, '"refused"')).rejects.toThrow();
    disk.recover();
    await until('calls are admitted', () => !spool.isFull);
    for (const event of ['"begun"', '"refused"', '"after"']) await append(spool, event);
    expect((await openSpool()).left.sort()).toEqual(['"after"', '"before"', '"begun"', '"refused"']);
    for (const event of ['"before"', '"begun"', '"refused"', '"after"']) spool.release(event);
    expect(spool.waitingBytes).toBe(0);
    await until('it is done with them', () => spool.isEmpty);
  });

  it('does not keep its spool from ending', async () => {
    const { spool } = await openSpool();
    await append(spool, '"before"');
    await hang(spool);
    await isHung(spool);
    await spool.close().catch((error: Error) => expect(error.message).toContain('it is not closed'));
    disk.recover();
    expect((await openSpool()).left).toContain('"before"');
  });
});

it('leaves out of account what a write brings late whose caller was refused', async () => {
  const { spool } = await openSpool();
  disk.hanging.add('appendFile');
  await expect(append(spool, '"late"')).rejects.toThrow('hangs');
  // Recorded meanwhile, by what Redis has.
  spool.release('"late"');
  disk.recover();
  await until('calls are admitted', () => !spool.isFull);
  await append(spool, '"after"');
  spool.release('"after"');
  expect(spool.waitingBytes).toBe(0);
  await spool.close();
  expect(await readdir(dir)).toEqual([]);
});

it('takes an event again whose write fails late', async () => {
  const { spool } = await openSpool();
  disk.hanging.add('appendFile');
  await expect(append(spool, '"late"')).rejects.toThrow('hangs');
  disk.failing.add('appendFile');
  disk.recover();
  await until('the disk answers', () => !spool.isHung);
  disk.failing.clear();
  await append(spool, '"late"');
  expect((await openSpool()).left).toEqual(['"late"']);
});

it('ends calls while it flushes a segment that is full', async () => {
  const { spool } = await openSpool();
  const event = JSON.stringify('x'.repeat(1_200_000));
  await append(spool, event);
  disk.hanging.add('datasync');
  await until('the flush has begun', () => disk.held > 0);
  await append(spool, '"meanwhile"');
  expect(spool.isHung).toBe(false);
});

it('ends once what it writes anew has come to its end, also where nothing waits any more', async () => {
  const { spool } = await openSpool();
  disk.failing.add('datasync');
  await append(spool, '"recorded"');
  disk.hanging.add('appendFile');
  await until('it is written anew', () => disk.held > 0);
  spool.release('"recorded"');
  disk.failing.clear();
  const end = spool.close();
  // The end goes as far as it can before the disk answers.
  await delay(100);
  disk.recover();
  await end;
  expect(await readdir(dir)).toEqual([]);
});
