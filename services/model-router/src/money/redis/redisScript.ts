import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Redis } from 'ioredis';

/** Registers the script in a `.lua` file, by the file's name, and returns how to run it: keys first, then arguments. */
export function defineScript(redis: Redis, file: URL): (keys: string[], args: (string | number)[]) => Promise<unknown> {
  const name = basename(file.pathname, '.lua');
  redis.defineCommand(name, { lua: readFileSync(file, 'utf8') });
  const run = Reflect.get(redis, name) as (...args: (string | number)[]) => Promise<unknown>;
  return (keys, args) => run.call(redis, keys.length, ...keys, ...args);
}
