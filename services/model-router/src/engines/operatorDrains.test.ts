import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type OpenedRedis, openTestRedis } from '@turnpike/holds/test/openTestRedis';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { until } from '@turnpike/test-support/until';
import { followOperatorDrains } from './operatorDrains.ts';

let opened: OpenedRedis;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());

it('holds an engine back on every router until it is let in again', async () => {
  const routers = [1, 2].map(() =>
    followOperatorDrains({ shards: { having: () => opened.shard }, log: aSilentLogger() }),
  );
  const [asked, other] = routers;
  await asked?.set('pool/1', true);
  expect(asked?.engineIds.has('pool/1')).toBe(true);
  await until('the other router to know', () => other?.engineIds.has('pool/1') === true);
  expect(other?.engineIds.has('pool/2')).toBe(false);
  await asked?.set('pool/1', false);
  await until('the other router to know', () => other?.engineIds.has('pool/1') === false);
  await Promise.all(routers.map((router) => router.close()));
});

it('holds an engine back also after Redis has lost the list, for routers that start later too', async () => {
  const follow = () => followOperatorDrains({ shards: { having: () => opened.shard }, log: aSilentLogger() });
  const router = follow();
  await router.set('pool/1', true);
  await router.set('pool/2', true);
  await router.set('pool/2', false);
  await opened.redis.del('draining_engines');
  await until('it is written again', async () => (await opened.redis.exists('draining_engines')) === 1);
  const later = follow();
  await until('the later router to know', () => later.engineIds.has('pool/1'));
  expect([router.engineIds.has('pool/1'), router.engineIds.has('pool/2'), later.engineIds.has('pool/2')]).toEqual([
    true,
    false,
    false,
  ]);
  await router.set('pool/1', false);
  await until('the later router to know', () => !later.engineIds.has('pool/1'));
  await Promise.all([router, later].map((each) => each.close()));
});

it('writes no list into a Redis that it does not count in', async () => {
  const { redis, sessionState } = opened;
  const router = followOperatorDrains({ shards: { having: () => opened.shard }, log: aSilentLogger() });
  await router.set('pool/3', true);
  sessionState.close();
  await redis.del('draining_engines');
  await router.set('pool/4', false);
  expect([await redis.exists('draining_engines'), router.engineIds.has('pool/3')]).toEqual([0, true]);
  sessionState.open();
  await until('it is written again', async () => (await redis.exists('draining_engines')) === 1);
  await router.close();
});
