import { createHash } from 'node:crypto';
import type { NodeAddress } from '@turnpike/redis-connection/connectRedis';
import type { Redis } from 'ioredis';
import { z } from 'zod';

/** The keys of a cluster are in so many slots. */
export const SLOTS = 16_384;

/** Slots that one server serves. */
export interface ServedSlots {
  /** Says which slots: the same for whoever serves just these. */
  name: string;
  /** First and last, in rising order. */
  ranges: [first: number, last: number][];
  /** Undefined of a Redis that is no cluster: it is where it was found. */
  address: NodeAddress | undefined;
}

/** Slots and their servers, as one server sees them. Of two views, the one of the higher epoch is newer. */
export interface Topology {
  epoch: number;
  served: ServedSlots[];
}

const WHOLE: ServedSlots = { name: `0-${SLOTS - 1}`, ranges: [[0, SLOTS - 1]], address: undefined };
/** Longest name in characters. A longer one is replaced by its digest. */
const MAX_NAME = 128;

const slotsSchema = z.array(
  z
    .tuple([z.number(), z.number(), z.tuple([z.string().nullable(), z.number(), z.string()]).rest(z.unknown())])
    .rest(z.unknown()),
);

/** Asks a server which slots are whose: of a cluster all masters', of a Redis that is none its own, which are all. */
export async function readTopology(redis: Redis): Promise<Topology> {
  const info = await redis.info('cluster');
  if (!/^cluster_enabled:1\r?$/m.test(info)) return { epoch: 0, served: [WHOLE] };
  const [state, answer] = await Promise.all([redis.cluster('INFO'), redis.cluster('SLOTS')]);
  const epoch = Number(/^cluster_current_epoch:(\d+)\r?$/m.exec(String(state))?.[1]);
  const { host: askedHost = '' } = redis.options;
  const byNode = new Map<string, { ranges: [number, number][]; address: NodeAddress }>();
  for (const [first, last, [host, port, nodeId]] of slotsSchema.parse(answer)) {
    const known = byNode.get(nodeId);
    // A node that does not know its own name is where it was asked.
    const address = { host: host === null || host === '' || host === '?' ? askedHost : host, port };
    if (known) known.ranges.push([first, last]);
    else byNode.set(nodeId, { ranges: [[first, last]], address });
  }
  if (byNode.size === 0) throw new Error('this node of a Redis Cluster knows of no slots');
  const served = [...byNode.values()].map(({ ranges, address }) => {
    const sorted = ranges.toSorted(([one], [other]) => one - other);
    return { name: nameOf(sorted), ranges: sorted, address };
  });
  return { epoch, served };
}

function nameOf(ranges: [number, number][]): string {
  const text = ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
  return text.length <= MAX_NAME ? text : createHash('sha256').update(text).digest('hex');
}
