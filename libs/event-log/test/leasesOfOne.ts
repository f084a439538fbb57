import type { ReaderLeases } from '../src/eventLog.ts';

const PARTITIONS = Array.from({ length: 12 }, (_, partition) => partition);

/** A reader with these sees no other and reads every partition, as one of before there were leases. */
export const leasesOfOne = (nextOffset: (partition: number) => Promise<bigint>): ReaderLeases => ({
  async renew(readerId) {
    const offsets = await Promise.all(PARTITIONS.map(nextOffset));
    return { readers: [readerId], positions: new Map(offsets.map((offset, partition) => [partition, offset])) };
  },
  giveBack: async () => {},
});
