import type { Redis } from 'ioredis';

/** A primary as it describes itself. */
interface RedisServer {
  /** Its replication id. A server gives itself a new one when it starts and when it is promoted. */
  redisId: string;
  /** Share of maxmemory that is used, counted as Redis counts before it refuses a write; 0 without a limit. */
  memoryShare: number;
}

/** Asks the Redis behind this connection. Rejects when it does not answer, or is a replica, which must not be written to. */
export async function readRedis(redis: Redis): Promise<RedisServer> {
  const info = await redis.info('replication', 'memory');
  if (!/^role:master\r?$/m.test(info)) throw new Error('this Redis is a replica');
  const redisId = /^master_replid:([0-9a-f]{40})\r?$/m.exec(info)?.[1];
  if (redisId === undefined) throw new Error('Redis does not say its replication id');
  const find = (field: string): number => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const limit = find('maxmemory');
  const used = find('used_memory') - find('mem_not_counted_for_evict');
  return { redisId, memoryShare: limit === 0 ? 0 : used / limit };
}

/** The clock of Redis, whole milliseconds: the one that admissions and leases go by, whichever owner asks. */
export async function readRedisTime(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}
