import type { SimulatedRedis } from '../redis/simulatedRedis.ts';

/** A hash in Redis, by its fields. */
export function readHash(redis: SimulatedRedis, key: string): Map<string, string> {
  const flat = redis.data.run('HGETALL', [key]) as string[];
  const fields = new Map<string, string>();
  for (let at = 0; at < flat.length; at += 2) fields.set(flat[at] ?? '', flat[at + 1] ?? '');
  return fields;
}
