import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Taken, Throttle } from './createThrottle.ts';

const usedSchema = z.array(z.number());
const lua = readFileSync(new URL('addTaken.lua', import.meta.url), 'utf8');

export interface AddedThrottle extends Pick<Throttle, 'intervalMs' | 'windowMs'> {
  name: string;
  taken: Taken[];
}

/**
 * Registers the script, and gives how to run it: adds what was taken from a throttle, and says what is used of each name, ms.
 * `clockAheadMs` is how far the clock of Redis is ahead of the throttle's, or less than that.
 */
export function defineAddTaken(redis: Redis): (added: AddedThrottle, clockAheadMs: number) => Promise<number[]> {
  redis.defineCommand('addTaken', { lua });
  const run = Reflect.get(redis, 'addTaken') as (...args: (string | number)[]) => Promise<unknown>;
  return async ({ name: throttle, intervalMs, windowMs, taken }, clockAheadMs) => {
    // One hash tag: a cluster has all of a throttle's names on one server.
    const keys = taken.map(({ name }) => `{throttle:${throttle}}:${name}`);
    const amounts = taken.flatMap(({ requests, since }) => [requests, Math.floor((since + clockAheadMs) * 1_000)]);
    const answer = await run.call(redis, keys.length, ...keys, intervalMs * 1_000, Math.ceil(windowMs), ...amounts);
    return usedSchema.parse(answer).map((usedUs) => usedUs / 1_000);
  };
}
