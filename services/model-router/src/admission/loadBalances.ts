import { nanoUsdSchema } from '@turnpike/money/nanoUsd';
import type { Redis } from 'ioredis';
import { request } from 'undici';
import { z } from 'zod';
import type { EpochStamp, RedisEpoch } from './redisEpoch.ts';
import { redisKeys } from './redisKeys.ts';
import { defineScript } from './redisScript.ts';

const balancesSchema = z.object({
  credit_seq: z.number().int().min(0),
  credited_nano_usd: nanoUsdSchema,
  spent_nano_usd: nanoUsdSchema,
  month_spent_nano_usd: nanoUsdSchema,
  keys: z.record(z.string(), nanoUsdSchema),
  /** Calls recorded. */
  requests: z.number().int().min(0),
});

/** A refused call asks for newer credits; more often than this a workspace's refusals share one answer. */
const REFRESH_INTERVAL_MS = 500;
const MAX_WORKSPACES = 10_000;
/** Longest wait for the ledger. */
const TIMEOUT_MS = 1_000;

export interface BalanceLoader {
  /**
   * Brings a workspace's balances of an epoch, that in force unless told otherwise, into Redis, or its newer credits. One
   * request at a time for a workspace. Rejects while the ledger cannot give that epoch's balances.
   */
  load(workspaceId: string, stamp?: EpochStamp): Promise<boolean>;
  /** As `load`, but at most every 500 ms. Says whether anything changed. */
  refresh(workspaceId: string): Promise<boolean>;
}

export interface BalanceLoaderOptions {
  redis: Redis;
  ledgerUrl: string;
  internalHeaders: (audience: string) => Record<string, string>;
  epoch: Pick<RedisEpoch, 'stamp' | 'reportMissingCall'>;
}

const outcomeSchema = z.enum(['changed', 'unchanged', 'other_redis', 'emptied']);

/** The ledger owns credits; Redis holds what the gate counts with. This carries the one to the other. */
export function createBalanceLoader({ redis, ledgerUrl, internalHeaders, epoch }: BalanceLoaderOptions): BalanceLoader {
  const loadBalances = defineScript(redis, 'loadBalances');
  const loading = new Map<string, Promise<boolean>>();
  const loadedAt = new Map<string, number>();

  function refuseEmptied(number: number): Error {
    if (number === epoch.stamp.number) epoch.reportMissingCall();
    return new Error('this Redis has no balances of the epoch');
  }

  async function bring(workspaceId: string, { number, redisId }: EpochStamp): Promise<boolean> {
    // Whoever empties Redis takes the mark along: what would be loaded now would lack the holds.
    if ((await redis.get(redisKeys.epoch)) !== String(number)) throw refuseEmptied(number);
    // Where the sweeper looks: known before the first call can be admitted.
    await redis.sadd(redisKeys.workspaces, workspaceId);
    // The month that admissions count in is Redis' own, too.
    const [seconds] = await redis.time();
    const month = new Date(Number(seconds) * 1_000).toISOString().slice(0, 7);
    const { statusCode, body } = await request(
      `${ledgerUrl}/internal/workspaces/${encodeURIComponent(workspaceId)}/balances?month=${month}&epoch=${number}`,
      {
        headers: internalHeaders('usage-ledger'),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      },
    );
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`usage-ledger answered ${statusCode} to a question for balances`);
    const balances = balancesSchema.parse(JSON.parse(text));
    const keys = Object.entries(balances.keys);
    const answer = await loadBalances(
      [
        redisKeys.wallet(workspaceId),
        redisKeys.months(workspaceId),
        redisKeys.keys(workspaceId),
        redisKeys.epoch,
        ...keys.map(([keyId]) => redisKeys.key(workspaceId, keyId)),
      ],
      [
        number,
        redisId,
        balances.credit_seq,
        balances.credited_nano_usd.toString(),
        balances.spent_nano_usd.toString(),
        month,
        balances.month_spent_nano_usd.toString(),
        balances.requests,
        ...keys.flatMap(([keyId, spent]) => [keyId, spent.toString()]),
      ],
    );
    if (loadedAt.size >= MAX_WORKSPACES) loadedAt.clear();
    loadedAt.set(workspaceId, performance.now());
    const outcome = outcomeSchema.parse(answer);
    if (outcome === 'emptied') throw refuseEmptied(number);
    if (outcome === 'other_redis') throw new Error('balances belong to another Redis or epoch');
    return outcome === 'changed';
  }

  function load(workspaceId: string, stamp = epoch.stamp): Promise<boolean> {
    const what = `${stamp.number} ${workspaceId}`;
    const running = loading.get(what);
    if (running) return running;
    const bringing = bring(workspaceId, stamp).finally(() => loading.delete(what));
    loading.set(what, bringing);
    return bringing;
  }

  return {
    load,
    async refresh(workspaceId) {
      if (performance.now() - (loadedAt.get(workspaceId) ?? Number.NEGATIVE_INFINITY) < REFRESH_INTERVAL_MS)
        return false;
      return load(workspaceId);
    },
  };
}
