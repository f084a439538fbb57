import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { createRaiseGeneration, createSetBackGeneration } from './keyGeneration.ts';

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

describe('a generation that auth does not know any more', () => {
  const of = (keyId: string, generation: number) => ({ workspaceId: 'ws', keyId, generation });
  const raise = (...[key, status]: [ReturnType<typeof of>, ('active' | 'blocked' | 'revoked')?]) =>
    createRaiseGeneration(opened.redis)({ ...key, status });
  const setBack = (...args: Parameters<ReturnType<typeof createSetBackGeneration>>) =>
    createSetBackGeneration(opened.redis)(...args);
  const known = (keyId: string) => opened.redis.hget(redisKeys.key('ws', keyId), 'generation');

  it('is set back, once for all who saw it, and not where the key has changed again', async () => {
    await raise(of('a', 7));
    expect(await setBack(of('a', 4), 6)).toBe('changed');
    expect(await known('a')).toBe('7');
    expect(await setBack(of('a', 4), 7)).toBe('set_back');
    expect(await setBack(of('a', 4), 7)).toBe('changed');
    expect(await known('a')).toBe('4');
  });

  it('stays where the key was blocked, until it is let in again by a newer change', async () => {
    await raise(of('b', 7), 'blocked');
    expect(await setBack(of('b', 4), 7)).toBe('kept_out');
    await raise(of('b', 6), 'active');
    await raise(of('b', 7));
    expect(await setBack(of('b', 4), 7)).toBe('kept_out');
    await raise(of('b', 8), 'active');
    expect(await setBack(of('b', 4), 8)).toBe('set_back');
  });

  it('stays for good where the key was revoked, whatever is told later', async () => {
    await raise(of('c', 7), 'revoked');
    await raise(of('c', 8), 'active');
    await raise(of('c', 9), 'blocked');
    await raise(of('c', 10), 'active');
    expect(await setBack(of('c', 4), 10)).toBe('kept_out');
  });
});
