import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type OpenedRedis, openTestRedis } from '../../../test/openTestRedis.ts';
import { redisKeys } from './redisKeys.ts';
import { scanWorkspaces } from './scanWorkspaces.ts';

let opened: OpenedRedis;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());

it('finds every workspace, and never asks for more than Redis can give within a deadline', async () => {
  const workspaceIds = Array.from({ length: 20_000 }, (_, n) => `ws_${n}`);
  await opened.redis.sadd(redisKeys.workspaces, workspaceIds);
  const pages = await Array.fromAsync(scanWorkspaces(opened.redis));
  expect(new Set(pages.flat())).toEqual(new Set(workspaceIds));
  // A page is whole buckets of Redis' table, so a little more than was asked for.
  expect(Math.max(...pages.map(({ length }) => length))).toBeLessThan(1_000);
});

it('finds none where there is none', async () => {
  await opened.redis.del(redisKeys.workspaces);
  expect((await Array.fromAsync(scanWorkspaces(opened.redis))).flat()).toEqual([]);
});
