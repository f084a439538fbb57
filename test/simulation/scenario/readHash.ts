import type { SimulatedRedis } from '../redis/simulatedRedis.ts';

/** A hash in Redis, by its fields. */
export function readHash(redis: SimulatedRedis, key: string): Map<string, string> {
  const flat = redis.data.run('HGETALL', [key]) as string[];
  return new Map(flat.flatMap((name, at) => (at % 2 ? [] : [[name, flat[at + 1] ?? '']])));
}
