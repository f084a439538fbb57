import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

/** Registers the script `name.lua` that lies in this folder and returns how to run it: keys first, then arguments. */
export function defineScript(
  redis: Redis,
  name: string,
): (keys: string[], args: (string | number)[]) => Promise<unknown> {
  redis.defineCommand(name, { lua: readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8') });
  const run = Reflect.get(redis, name) as (...args: (string | number)[]) => Promise<unknown>;
  return (keys, args) => run.call(redis, keys.length, ...keys, ...args);
}
