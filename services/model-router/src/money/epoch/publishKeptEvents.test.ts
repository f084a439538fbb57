import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import type { EventRecord } from '@turnpike/event-log/eventLog';
import { type OpenedRedis, openTestRedis } from '../../../test/openTestRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { publishKeptEvents } from './publishKeptEvents.ts';

// A Redis that came back without its newest second, or empty, is rebuilt only once all of this is in the event log.

let opened: OpenedRedis;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(() => opened.redis.flushall());

/** Puts records of calls in a state into a workspace, and returns their events. */
async function keep(state: string, count: number): Promise<string[]> {
  const workspaceId = `ws_${randomUUID()}`;
  const events = Array.from({ length: count }, () => randomUUID());
  const commands = opened.redis.pipeline().sadd(redisKeys.workspaces, workspaceId);
  for (const event of events) {
    commands.zadd(redisKeys.calls(workspaceId), 1, event);
    commands.hset(redisKeys.call(workspaceId, event), { state, key: 'key_1', event });
  }
  await commands.exec();
  return events;
}

async function publish(): Promise<EventRecord[][]> {
  const batches: EventRecord[][] = [];
  const append = async (_topic: string, records: EventRecord[]): Promise<void> => {
    batches.push(records);
  };
  await publishKeptEvents({ redis: opened.redis, eventLog: { append, close: async () => {} }, unspooled: [] });
  return batches;
}

it('sends the events of settled calls of every workspace, and of no call that is held or swept', async () => {
  const kept = [await keep('settled', 3), await keep('settled', 1)].flat();
  await keep('held', 2);
  await keep('swept', 2);
  const sent = (await publish()).flat();
  expect(sent.map(({ value }) => value).toSorted()).toEqual(kept.toSorted());
  expect(new Set(sent.map(({ key }) => key))).toEqual(new Set(['key_1']));
});

it('has no more than 500 records under way at a time, however many there are', async () => {
  const kept = [
    await keep('settled', 2_000),
    ...(await Promise.all(
      Array(150)
        .fill(20)
        .map((n) => keep('settled', n)),
    )),
  ];
  let waiting = 0;
  let most = 0;
  const hmget = opened.redis.hmget.bind(opened.redis);
  const watched = jest.spyOn(opened.redis, 'hmget').mockImplementation(async (...args: Parameters<typeof hmget>) => {
    waiting += 1;
    most = Math.max(most, waiting);
    return hmget(...args).finally(() => {
      waiting -= 1;
    });
  });
  const batches = await publish().finally(() => watched.mockRestore());
  expect(new Set(batches.flat().map(({ value }) => value))).toEqual(new Set(kept.flat()));
  expect(most).toBeLessThanOrEqual(500);
  expect(Math.max(...batches.map(({ length }) => length))).toBeLessThanOrEqual(500);
});
