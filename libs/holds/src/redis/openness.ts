import type { Shards } from './shards.ts';

/** A process that starts waits for all shards, so long after the first has opened: whatever is not open by then is lost. */
const SETTLE_MS = 10_000;
const NO_SHARD = 'no Redis has answered yet';

/** Whether a process is of use to anybody. */
export interface Openness {
  /** Whether calls of some workspace are admitted: a shard that is lost closes its own, and not the process. */
  isOpen(): boolean;
  /** Describes the last reason for refusing calls, for logs. */
  describeClosedReason(): string;
}

/** Goes by how the shards stood whenever it was asked. */
export function createOpenness(shards: Pick<Shards, 'all'>): Openness {
  let settledAt = Number.POSITIVE_INFINITY;
  return {
    isOpen() {
      const open = shards.all.filter(({ sessionState }) => sessionState.isOpen).length;
      if (open === 0) return false;
      const now = performance.now();
      settledAt = Math.min(settledAt, open === shards.all.length ? now : now + SETTLE_MS);
      return now >= settledAt;
    },
    describeClosedReason: () =>
      [...new Set(shards.all.map(({ sessionState }) => sessionState.closedReason))].join('; ') || NO_SHARD,
  };
}
