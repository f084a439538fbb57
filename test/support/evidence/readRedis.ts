import { Redis } from 'ioredis';
import type { Evidence } from './evidence.ts';

/** Every key of a Redis with all it holds. */
export async function* readRedis(url: string): AsyncGenerator<Evidence> {
  const redis = new Redis(url, { commandTimeout: 30_000 });
  try {
    for await (const keys of redis.scanStream({ count: 500 })) {
      for (const key of keys as string[]) {
        const value = JSON.stringify([key, await readValue(redis, key)]);
        yield { place: `redis ${key}`, bytes: Buffer.from(value) };
      }
    }
  } finally {
    redis.disconnect();
  }
}

async function readValue(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key);
  switch (type) {
    case 'string':
      return redis.get(key);
    case 'hash':
      return redis.hgetall(key);
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'set':
      return redis.smembers(key);
    case 'zset':
      return redis.zrange(key, 0, -1, 'WITHSCORES');
    case 'stream':
      return redis.xrange(key, '-', '+');
    case 'none': // the key expired between the two commands
      return null;
    default:
      throw new Error(`redis key ${key} is of type ${type}, which nobody reads`);
  }
}
