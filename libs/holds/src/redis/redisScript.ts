import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

const folder = new URL('../scripts/', import.meta.url);
const INCLUDE = /^-- include (\w+\.lua)$/gm;

/** The text of a script in `scripts/`, with what it includes in its place. */
export function readScript(name: string): string {
  const text = readFileSync(new URL(`${name}.lua`, folder), 'utf8');
  return text.replace(INCLUDE, (_line, file: string) => readFileSync(new URL(file, folder), 'utf8').trimEnd());
}

/** Runs a script: keys first, then arguments. Rejects when Redis does not answer in time. */
export type Script = (keys: string[], args: (string | number)[]) => Promise<unknown>;

/** Registers a script with a connection. */
export function defineScript(redis: Redis, name: string): Script {
  redis.defineCommand(name, { lua: readScript(name) });
  const run = Reflect.get(redis, name) as (...args: (string | number)[]) => Promise<unknown>;
  return (keys, args) => run.call(redis, keys.length, ...keys, ...args);
}

/**
 * Runs a script that includes `pending.lua`, which makes the names of the workspace's keys. An empty mark is any Redis'. Rejects when
 * Redis does not answer in time.
 */
export type WorkspaceScript = (workspaceId: string, mark: string, args: (string | number)[]) => Promise<unknown>;

/** Registers a script of a workspace with a connection. */
export function defineWorkspaceScript(redis: Redis, name: string): WorkspaceScript {
  redis.defineCommand(name, { lua: readScript(name) });
  const run = Reflect.get(redis, name) as (...args: (string | number)[]) => Promise<unknown>;
  // The key is never written. A cluster that moves a slot's keys elsewhere one by one refuses a script that names a missing key.
  return (workspaceId, mark, args) => run.call(redis, 1, `{${workspaceId}}:nothing`, mark, ...args);
}
