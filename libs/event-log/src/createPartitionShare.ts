import type { Readership } from './eventLog.ts';

/** Records may wait so long in a partition that is another reader's: then it is read here too, whoever has it. */
const LEFT_TO_OTHERS_MS = 3_000;

/** How a topic stands: who reads it, how far, and the offset that the next record will get, of each partition that holds any. */
export interface TopicState extends Readership {
  ends: Map<number, bigint>;
}

/** Which partitions a reader fetches. */
export interface PartitionShare {
  /** Divides the partitions among the readers anew. Until then there are none. */
  divide(partitions: number[], state: TopicState, nowMs: number): void;
  has(partition: number): boolean;
  /** Another reader was first there: a partition that is not of the reader's own is left to it. */
  leave(partition: number): void;
  /** How many are the reader's own. */
  size(): number;
}

/**
 * A reader's own partitions are each n-th of them where there are n readers, so that all have as many, or one more. Beside those it
 * fetches what others pass over: a reader may live and not read, and records wait for none. It goes on with them for as long as it is
 * first. Two that see different readers for a moment may both fetch a partition, or neither: the handler's database decides who
 * is first.
 */
export function createPartitionShare(readerId: string): PartitionShare {
  let own = new Set<number>();
  const passedOver = new Set<number>();
  /** Since when records wait at a position. */
  const waiting = new Map<number, { position: bigint; sinceMs: number }>();

  function waitsTooLong(partition: number, { positions, ends }: TopicState, nowMs: number): boolean {
    const position = positions.get(partition) ?? 0n;
    if ((ends.get(partition) ?? 0n) <= position) {
      waiting.delete(partition);
      return false;
    }
    const before = waiting.get(partition);
    if (before?.position !== position) waiting.set(partition, { position, sinceMs: nowMs });
    return before?.position === position && nowMs - before.sinceMs >= LEFT_TO_OTHERS_MS;
  }

  return {
    divide(partitions, state, nowMs) {
      const { readers } = state;
      const place = readers.indexOf(readerId);
      own = new Set(partitions.filter((partition) => partition % readers.length === place));
      for (const partition of partitions) {
        const isLate = waitsTooLong(partition, state, nowMs);
        if (own.has(partition)) passedOver.delete(partition);
        else if (isLate) passedOver.add(partition);
      }
    },
    has: (partition) => own.has(partition) || passedOver.has(partition),
    leave: (partition) => void passedOver.delete(partition),
    size: () => own.size,
  };
}
