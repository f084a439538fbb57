import { expect, it } from '@jest/globals';
import { createPartitionShare } from './createPartitionShare.ts';

const PARTITIONS = Array.from({ length: 12 }, (_, partition) => partition);
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n'];

/** A topic of which nothing waits. */
const read = { positions: new Map<number, bigint>(), ends: new Map<number, bigint>() };
/** A topic with a record in partition 1 that nobody has read. */
const waiting = { ...read, ends: new Map([[1, 1n]]) };

it.each(NAMES.map((_, index) => index + 1))(
  'has each partition in the share of one of %i readers, and fair shares',
  (n) => {
    const readers = NAMES.slice(0, n);
    const shares = readers.map((readerId) => {
      const share = createPartitionShare(readerId);
      share.divide(PARTITIONS, { ...read, readers }, 0);
      expect(share.size()).toBe(PARTITIONS.filter(share.has).length);
      return PARTITIONS.filter(share.has);
    });
    expect(shares.flat().sort((a, b) => a - b)).toEqual(PARTITIONS);
    for (const { length } of shares) expect([Math.floor(12 / n), Math.ceil(12 / n)]).toContain(length);
  },
);

it('fetches nothing before the partitions are divided', () => {
  const share = createPartitionShare('a');
  expect(PARTITIONS.filter(share.has)).toEqual([]);
  expect(share.size()).toBe(0);
});

/** The first of two readers: partition 1 is the other one's. */
function aFirstOfTwo() {
  const share = createPartitionShare('a');
  const readers = ['a', 'b'];
  return {
    share,
    see: (standing: typeof waiting, nowMs: number) => share.divide(PARTITIONS, { ...standing, readers }, nowMs),
  };
}

it('fetches what is another’s once records have waited there for 3 s, and until another is first', () => {
  const { share, see } = aFirstOfTwo();
  for (const nowMs of [0, 1_000, 2_900]) {
    see(waiting, nowMs);
    expect(share.has(1)).toBe(false);
  }
  see(waiting, 3_000);
  expect(share.has(1)).toBe(true);
  expect(share.size()).toBe(6);
  // This reader was the first itself.
  see({ positions: new Map([[1, 1n]]), ends: new Map([[1, 1n]]) }, 4_000);
  expect(share.has(1)).toBe(true);
  share.leave(1);
  expect(share.has(1)).toBe(false);
});

it('leaves what is another’s to it while that moves, and where nothing waits however long', () => {
  const { share, see } = aFirstOfTwo();
  for (let second = 0; second < 20; second += 1) {
    see({ positions: new Map([[1, BigInt(second)]]), ends: new Map([[1, 100n]]) }, second * 1_000);
    expect(share.has(1)).toBe(false);
  }
  for (let second = 20; second < 40; second += 1) {
    see({ positions: new Map([[1, 100n]]), ends: new Map([[1, 100n]]) }, second * 1_000);
    expect(share.has(1)).toBe(false);
  }
  // The time counts from when the record came.
  see({ positions: new Map([[1, 100n]]), ends: new Map([[1, 101n]]) }, 40_000);
  see({ positions: new Map([[1, 100n]]), ends: new Map([[1, 101n]]) }, 42_900);
  expect(share.has(1)).toBe(false);
});

it('has no partition of its own to leave', () => {
  const { share, see } = aFirstOfTwo();
  see(read, 0);
  share.leave(0);
  expect(share.has(0)).toBe(true);
});
