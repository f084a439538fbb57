import type { Redis } from 'ioredis';
import { SLOTS, tagOfSlot } from '../src/redis/hashSlot.ts';
import type { OpenShards, Shard } from '../src/redis/shards.ts';
import type { Standing } from '../src/redis/standing.ts';

/** The hash tag of the keys that are nobody's in a Redis that is no cluster. */
export const TAG = tagOfSlot(0);

/** A Redis that is no cluster, as the shard of all slots. */
export const aShard = (redis: Redis, standing: Standing): Shard => ({
  name: `0-${SLOTS - 1}`,
  tag: TAG,
  otherTags: () => [],
  redis,
  standing,
});

/** The one shard that there is. */
export const shardsOf = (shard: Shard): Pick<OpenShards, 'of' | 'attend'> => ({
  of: () => shard,
  attend: (open) => open(shard),
});
