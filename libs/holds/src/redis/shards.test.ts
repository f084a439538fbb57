import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Logger } from '@turnpike/logging/createLogger';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { startRedis, type TestRedis } from '@turnpike/test-support/startRedis';
import { until } from '@turnpike/test-support/until';
import { type OpenShards, openShards } from './shards.ts';

// Covers one Redis. Rows of a cluster are in test/redisCluster.deep.test.ts.

let server: TestRedis;
let errors: string[];
let shards: OpenShards;
const log: Logger = Object.assign(Object.create(aSilentLogger()) as Logger, {
  error: ({ err }: { err: Error }) => void errors.push(err.message),
});
const open = (urls: string[]): OpenShards => openShards({ urls, timeoutMs: 5_000, log });
beforeEach(async () => {
  errors = [];
  server = await startRedis();
});
afterEach(async () => {
  await shards.close();
  await server.stop();
});

it('finds a Redis that is no cluster to be the one shard, also where it comes later', async () => {
  await server.kill();
  shards = open([server.url]);
  expect(shards.of('ws')).toBeUndefined();
  await server.restart();
  await until('it is found', () => shards.all.length === 1);
  const [shard] = shards.all;
  expect(shard).toMatchObject({ name: '0-16383', tag: '3560' });
  for (const key of ['ws', 'another', 'a third']) expect(shards.of(key)).toBe(shard);
  await until('its connection stands', () => shard?.redis.status === 'ready');
  expect(await shard?.redis.ping()).toBe('PONG');
});

it('attends to each shard until it is told not to', async () => {
  shards = open([server.url]);
  const seen: string[] = [];
  const attending = shards.attend(({ name }) => {
    seen.push(name);
    return { close: async () => void seen.push('closed') };
  });
  await until('the shard is attended to', () => seen.length > 0);
  await attending.close();
  expect(seen).toEqual(['0-16383', 'closed']);
});

it('refuses several addresses of a Redis that is no cluster', async () => {
  shards = open([server.url, server.url]);
  await until('it is said', () => errors.some((message) => message.includes('REDIS_URL has several addresses')));
  expect(shards.all).toEqual([]);
});
