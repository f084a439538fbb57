import { aSilentLogger } from '@turnpike/logging/createLogger';
import { PendingCalls } from '../src/call/pendingCalls.ts';
import type { Shard } from '../src/redis/shards.ts';
import { ShardHolds, type ShardHoldsOptions } from '../src/shardHolds.ts';

/** The holds of `router-1` in a Redis. A release is given up after the first failure, and nothing is loaded, unless told otherwise. */
export function aShardHolds(
  shard: Pick<Shard, 'redis' | 'sessionState'>,
  options: Partial<ShardHoldsOptions> = {},
): ShardHolds {
  const pending = options.pending ?? new PendingCalls();
  const holds: ShardHolds = new ShardHolds(shard, {
    owner: 'router-1',
    leaseMs: 0,
    pending,
    pendingHere: pending,
    absorber: { load: async () => false },
    release: (address) => holds.release(address),
    log: aSilentLogger(),
    ...options,
  });
  return holds;
}
