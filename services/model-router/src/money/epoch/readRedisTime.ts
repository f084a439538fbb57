import type { Redis } from 'ioredis';

/** The clock of Redis, whole milliseconds: the one that admissions and leases go by, whichever router asks. */
export async function readRedisTime(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}
