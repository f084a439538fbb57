import type { Redis } from 'ioredis';

/** Returns the longest hold of Redis' one thread by a command since the slow log was last emptied. */
export async function longestCommandMs(redis: Redis): Promise<number> {
  const entries = (await redis.slowlog('GET', '1000')) as [id: number, at: number, us: number, ...unknown[]][];
  return Math.max(0, ...entries.map(([, , us]) => us)) / 1_000;
}

/** Processor time of Redis' one thread since it started. */
export async function secondsOf(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = (name: string): number => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1]);
  return seconds('used_cpu_user_main_thread') + seconds('used_cpu_sys_main_thread');
}

export function* inGroups<Item>(items: Item[], size: number): Generator<Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
