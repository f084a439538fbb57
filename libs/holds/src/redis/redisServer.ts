import type { Redis } from 'ioredis';

/**
 * The replication id of the Redis behind this connection. A server gives itself a new one when it starts and when it is
 * promoted. Rejects when it does not answer, or is a replica, which must not be written to.
 */
export async function readRedisId(redis: Redis): Promise<string> {
  const info = await redis.info('replication');
  if (!/^role:master\r?$/m.test(info)) throw new Error('this Redis is a replica');
  const id = /^master_replid:([0-9a-f]{40})\r?$/m.exec(info)?.[1];
  if (id === undefined) throw new Error('Redis does not say its replication id');
  return id;
}

/** The clock of Redis, whole milliseconds: the one that admissions and leases go by, whichever owner asks. */
export async function readRedisTime(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}
