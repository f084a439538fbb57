import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type OpenedRedis, openTestRedis } from '@turnpike/holds/test/openTestRedis';
import { aSilentLogger } from '@turnpike/logging/aSilentLogger';
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
  expect(asked?.has('pool/1')).toBe(true);
  await until('the other router to know', () => other?.has('pool/1') === true);
  expect(other?.has('pool/2')).toBe(false);
  await asked?.set('pool/1', false);
  await until('the other router to know', () => other?.has('pool/1') === false);
  await Promise.all(routers.map((router) => router.close()));
});
