import type { Redis } from 'ioredis';
import { SLOTS } from '../src/redis/readTopology.ts';
import type { SessionState } from '../src/redis/sessionState.ts';
import { type OpenShards, type Shard, tagOfSlot } from '../src/redis/shards.ts';

/** The hash tag of the keys that are nobody's in a Redis that is no cluster. */
export const TAG = tagOfSlot(0);

/** A Redis that is no cluster, as the shard of all slots. */
export const aShard = (redis: Redis, sessionState: SessionState): Shard => ({
  name: `0-${SLOTS - 1}`,
  tag: TAG,
  otherTags: () => [],
  redis,
  sessionState,
});

/** The one shard that there is. */
export const shardsOf = (shard: Shard): Pick<OpenShards, 'of' | 'attend'> => ({
  of: () => shard,
  attend: (open) => open(shard),
});
