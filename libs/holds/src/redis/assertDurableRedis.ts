import { pause } from '@turnpike/lifecycle/pause';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Redis } from 'ioredis';

/** How long a Redis may take to answer before its callers start without its word. */
const ANSWER_MS = 3_000;
const ASK_AGAIN_MS = 100;

export interface Durability {
  /** `several`: what is written has to be on a replica as well. */
  copies: 'one' | 'several';
  log: Pick<Logger, 'warn' | 'error'>;
}

/**
 * Throws unless Redis keeps its data durably, because it holds money. A Redis that does not answer is checked when it
 * does, like every one that takes over. If such a Redis may lose or evict data, an alert fires and calls go on.
 */
export async function assertDurableRedis(redis: Redis, { copies, log }: Durability): Promise<void> {
  const lacks = await firstAnswer(redis, copies);
  if (lacks === undefined) log.warn('Redis does not answer: whether it keeps what it is given is seen when it does');
  else if (lacks.length > 0) throw new Error(`Redis may lose what it holds, which is money: ${lacks.join('; ')}`);
  let told = '';
  redis.on('ready', async () => {
    const found = (await findLacks(redis, copies).catch(() => [])).join('; ');
    if (found !== '' && found !== told) log.error({ lacks: found }, 'ALERT Redis may lose what it holds');
    told = found;
  });
}

/** Undefined where there is none in time. */
async function firstAnswer(redis: Redis, copies: Durability['copies']): Promise<string[] | undefined> {
  const until = performance.now() + ANSWER_MS;
  while (performance.now() < until) {
    const lacks = await findLacks(redis, copies).catch(() => undefined);
    if (lacks) return lacks;
    await pause(ASK_AGAIN_MS, new AbortController().signal);
  }
  return undefined;
}

/** Lists the settings to change, in words. It reads INFO alone, because a managed Redis may forbid CONFIG. */
async function findLacks(redis: Redis, copies: Durability['copies']): Promise<string[]> {
  const info = await redis.info();
  const find = (field: string): string | undefined => new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const policy = find('maxmemory_policy');
  const version = find('redis_version');
  return [
    ...(Number(version?.split('.')[0]) >= 7
      ? []
      : [
          `redis_version is ${version ?? 'unknown'} and must be 7 or later, because an older one does not know flags of scripts`,
        ]),
    ...(policy === 'noeviction' ? [] : [`maxmemory-policy is "${policy ?? 'unknown'}" and must be "noeviction"`]),
    ...(find('aof_enabled') === '1' ? [] : ['appendonly is off and must be "yes"']),
    // Redis counts its good replicas only where it is told to want some.
    ...(copies === 'one' || find('min_slaves_good_slaves') !== undefined
      ? []
      : [
          'min-replicas-to-write is 0 and must be at least 1; where its disk is replicated, or on a laptop, set STORE_COPIES=one',
        ]),
  ];
}
