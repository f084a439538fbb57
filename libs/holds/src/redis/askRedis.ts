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

/** A primary as it describes itself. */
interface RedisServer {
  /** Its replication id. A server gives itself a new one when it starts and when it is promoted. */
  redisId: string;
  /** Share of maxmemory that is used, counted as Redis counts before it refuses a write; 0 without a limit. */
  memoryShare: number;
}

/** Asks the Redis behind this connection. Rejects when it does not answer, or is a replica, which must not be written to. */
export async function readRedis(redis: Redis): Promise<RedisServer> {
  const info = await redis.info('replication', 'memory');
  if (!/^role:master\r?$/m.test(info)) throw new Error('this Redis is a replica');
  const redisId = /^master_replid:([0-9a-f]{40})\r?$/m.exec(info)?.[1];
  if (redisId === undefined) throw new Error('Redis does not say its replication id');
  const find = (field: string): number => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const limit = find('maxmemory');
  const used = find('used_memory') - find('mem_not_counted_for_evict');
  return { redisId, memoryShare: limit === 0 ? 0 : used / limit };
}

/** The clock of Redis, whole milliseconds: the one that admissions and leases go by, whichever owner asks. */
export async function readRedisTime(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}
