import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

const folder = new URL('../scripts/', import.meta.url);
const INCLUDE = /^-- include (\w+\.lua)$/gm;

/** The text of a script in `scripts/`, with what it includes in its place. */
export function readScript(name: string): string {
  const text = readFileSync(new URL(`${name}.lua`, folder), 'utf8');
  return text.replace(INCLUDE, (_line, file: string) => readFileSync(new URL(file, folder), 'utf8').trimEnd());
}

/** Registers a script and returns how to run it: keys first, then arguments. */
export function defineScript(
  redis: Redis,
  name: string,
): (keys: string[], args: (string | number)[]) => Promise<unknown> {
  redis.defineCommand(name, { lua: readScript(name) });
  const run = Reflect.get(redis, name) as (...args: (string | number)[]) => Promise<unknown>;
  return (keys, args) => run.call(redis, keys.length, ...keys, ...args);
}
