import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { createRaiseGeneration } from './admit.ts';

let opened: OpenedRedis;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());

it('keeps the newest generation, in whatever order the changes of a key are told', async () => {
  const raiseGeneration = createRaiseGeneration(opened.redis);
  const inForce: number[] = [];
  for (const generation of [0, 5, 3, 12, 9])
    inForce.push(await raiseGeneration({ workspaceId: 'ws', keyId: 'key', generation }));
  expect(inForce).toEqual([0, 5, 5, 12, 12]);
  expect(await opened.redis.hget(redisKeys.key('ws', 'key'), 'generation')).toBe('12');
});
