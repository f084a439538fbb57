import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { connectRedis } from '@turnpike/redis-connection/connectRedis';
import { until } from '@turnpike/test-support/until';
import type { Redis } from 'ioredis';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { assertDurableRedis } from './assertDurableRedis.ts';

let opened: OpenedRedis;
let redis: Redis;
let logged: string[];
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(async () => {
  logged = [];
  redis = connectRedis(opened.server.url, { timeoutMs: 2_000, log: aSilentLogger() });
  await until('the connection stands', () => redis.status === 'ready');
});
afterEach(async () => {
  redis.disconnect();
  await set('maxmemory-policy', 'noeviction');
  await set('appendonly', 'yes');
  await set('min-replicas-to-write', '0');
});
const set = (name: string, value: string) => opened.redis.config('SET', name, value);
const keep = (line: unknown, message?: string) => void logged.push(message ?? String(line));
const log = { warn: keep, error: keep };
const assertDurable = (copies: 'one' | 'several' = 'one') => assertDurableRedis(redis, { copies, log });

it('is content with a Redis that keeps everything', async () => {
  await assertDurable();
  expect(logged).toEqual([]);
});

it.each([
  ['maxmemory-policy', 'volatile-lru', /maxmemory-policy is "volatile-lru" and must be "noeviction"/],
  ['appendonly', 'no', /appendonly is off and must be "yes"/],
])('refuses to start where %s is %s, and says what to set', async (name, value, words) => {
  await set(name, value);
  await expect(assertDurable()).rejects.toThrow(words);
});

it('refuses to start on a Redis that does not know flags of scripts', async () => {
  const info = (await redis.info()).replace(/^redis_version:.*$/m, 'redis_version:6.2.14');
  const older = Object.assign(Object.create(redis) as Redis, { info: async () => info });
  await expect(assertDurableRedis(older, { copies: 'one', log })).rejects.toThrow(/6\.2\.14 and must be 7 or later/);
});

it('wants writes to be on a replica as well, unless one copy is enough', async () => {
  await expect(assertDurable('several')).rejects.toThrow(/min-replicas-to-write is 0 .* STORE_COPIES=one/);
  await set('min-replicas-to-write', '1');
  await assertDurable('several');
});

it('asks for nothing that a managed Redis forbids', async () => {
  const asked: string[] = [];
  const watched = new Proxy(redis, {
    get: (target, name) => {
      asked.push(String(name));
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  await assertDurableRedis(watched, { copies: 'one', log });
  expect(new Set(asked)).toEqual(new Set(['info', 'on']));
});

it('starts without a Redis, looks at it once it is there and at each that comes after, and says what is wrong once', async () => {
  redis.disconnect();
  const alerts = () => logged.filter((message) => message.startsWith('ALERT')).length;
  await assertDurable();
  expect(logged).toEqual([expect.stringMatching('does not answer')]);
  await set('maxmemory-policy', 'allkeys-lru');
  await redis.connect();
  await until('it is said', () => alerts() === 1);
  const reconnect = async () => {
    const ready = once(redis, 'ready');
    redis.disconnect(true);
    await ready;
    await redis.ping(); // answered after what is asked of a new connection
  };
  await reconnect();
  expect(alerts()).toBe(1);
  await set('maxmemory-policy', 'noeviction');
  await reconnect();
  await set('appendonly', 'no');
  await reconnect();
  await until('the next thing is said', () => alerts() === 2);
});
