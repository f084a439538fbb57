import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { searchOf } from '@turnpike/test-support/searchOf';
import { until } from '@turnpike/test-support/until';
import fc from 'fast-check';
import { type DiskTrouble, troubleDisk } from '../../test/troubleDisk.ts';
import { Spool } from './spool.ts';

// Events of an owner that come, are refused, recorded, set aside and found again, on a disk that fails and hangs as it likes.

const EVENTS_AT_ONCE = 100;
const EVENT_BYTES = 4_000;
const SEGMENT_BYTES = 1_048_576;

type Operation = 'appendFile' | 'datasync';
type Step =
  | { kind: 'append' | 'reopen' | 'recover' }
  | { kind: 'release' | 'setAside'; share: number }
  | { kind: 'fail' | 'hang'; operation: Operation };

const share = fc.double({ min: 0, max: 1, noNaN: true });
const operation = fc.constantFrom<Operation>('appendFile', 'datasync');
const aStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('append' as const) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('release' as const, 'setAside' as const), share }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('fail' as const, 'hang' as const), operation }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('recover' as const, 'reopen' as const) }) },
);
const steps = fc.array(aStep, { minLength: 10, maxLength: 25 });

/** The ids of events whose append was accepted, and of refused ones, which are appended again. */
class Owner {
  readonly taken = new Set<string>();
  readonly refused = new Set<string>();
  readonly #dir: string;
  readonly #disk: DiskTrouble;
  #spool: Spool | undefined;
  #number = 0;

  constructor(dir: string, disk: DiskTrouble) {
    this.#dir = dir;
    this.#disk = disk;
  }

  get spool(): Spool {
    if (!this.#spool) throw new Error('the spool is not open');
    return this.#spool;
  }

  /** Opens it, and holds what is found against what was taken. */
  async open(): Promise<void> {
    const { spool, left } = await Spool.open({
      dir: this.#dir,
      maxBytes: 1e9,
      log: aSilentLogger(),
      idOf: (json) => json,
    });
    this.#spool = spool;
    const found = new Set(left.map(({ json }) => json));
    expect([...this.taken].filter((event) => !found.has(event)).length).toBe(0);
    expect(found.size).toBe(left.length);
    // A spool knows of no releases of the former process: its owner asks the ledger, and releases them.
    for (const event of found) if (!this.taken.has(event)) spool.release(event);
  }

  async append(): Promise<void> {
    const some = [...this.refused];
    for (let count = 0; count < EVENTS_AT_ONCE; count += 1) {
      this.#number += 1;
      some.push(JSON.stringify({ number: this.#number, filler: 'x'.repeat(EVENT_BYTES) }));
    }
    await Promise.all(
      some.map(async (event) => {
        try {
          await this.spool.append(event, event);
          this.taken.add(event);
          this.refused.delete(event);
        } catch {
          this.refused.add(event);
        }
      }),
    );
  }

  async reopen(): Promise<void> {
    this.#disk.recover();
    this.#disk.failing.clear();
    await until('the disk answers', () => !this.spool.isHung);
    await this.spool.close();
    await this.open();
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'append':
        return this.append();
      case 'reopen':
        return this.reopen();
      case 'recover':
        this.#disk.failing.clear();
        return this.#disk.recover();
      case 'fail':
      case 'hang':
        this.#disk[step.kind === 'fail' ? 'failing' : 'hanging'].add(step.operation);
        return undefined;
      default:
        for (const [index, event] of [...this.taken].entries()) {
          if ((index * 0.618) % 1 > step.share) continue;
          if (step.kind === 'release') this.taken.delete(event);
          this.spool[step.kind](event);
        }
    }
  }
}

async function sizeOf(dir: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(dir))
    bytes += await stat(join(dir, name)).then(
      ({ size }) => size,
      () => 0,
    );
  return bytes;
}

it('loses nothing that waits, and keeps little more than that on its disk', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (some) => {
      const dir = await aTemporaryFolder();
      const disk = await troubleDisk(dir);
      const owner = new Owner(dir, disk);
      try {
        await owner.open();
        for (const step of some) await owner.take(step);
        await owner.reopen();
        const waiting = [...owner.taken].reduce((bytes, event) => bytes + event.length, 0);
        expect(owner.spool.waitingBytes).toBe(waiting);
        await until(
          'the disk holds little more than what waits',
          async () => (await sizeOf(dir)) <= 4 * waiting + 2 * SEGMENT_BYTES,
        );
        await owner.reopen();
      } finally {
        disk.restore();
        await owner.spool.close();
        await rm(dir, { recursive: true });
      }
    }),
    searchOf(10),
  );
});
