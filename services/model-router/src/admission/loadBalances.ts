import { nanoUsdSchema } from '@turnpike/money/nanoUsd';
import type { Redis } from 'ioredis';
import { request } from 'undici';
import { z } from 'zod';
import { redisKeys } from './redisKeys.ts';
import { defineScript } from './redisScript.ts';

const balancesSchema = z.object({
  credit_seq: z.number().int().min(0),
  credited_nano_usd: nanoUsdSchema,
  spent_nano_usd: nanoUsdSchema,
  month_spent_nano_usd: nanoUsdSchema,
  keys: z.record(z.string(), nanoUsdSchema),
  /** Events the ledger has yet to read; null where it does not know. */
  event_log_lag: z.number().int().nullable(),
});

/** A refused call asks for newer credits; more often than this a workspace's refusals share one answer. */
const REFRESH_INTERVAL_MS = 500;
const MAX_WORKSPACES = 10_000;
/** Longest wait for the ledger. */
const TIMEOUT_MS = 1_000;

export interface BalanceLoader {
  /** Brings a workspace's balances into Redis, or its newer credits. One request at a time for a workspace. */
  load(workspaceId: string): Promise<boolean>;
  /** As `load`, but at most every 500 ms. Says whether anything changed. */
  refresh(workspaceId: string): Promise<boolean>;
}

export interface BalanceLoaderOptions {
  redis: Redis;
  ledgerUrl: string;
  internalHeaders: (audience: string) => Record<string, string>;
}

/** The ledger owns credits; Redis holds what the gate counts with. This carries the one to the other. */
export function createBalanceLoader({ redis, ledgerUrl, internalHeaders }: BalanceLoaderOptions): BalanceLoader {
  const loadBalances = defineScript(redis, 'loadBalances');
  const loading = new Map<string, Promise<boolean>>();
  const loadedAt = new Map<string, number>();

  async function bring(workspaceId: string): Promise<boolean> {
    // Where the sweeper looks: known before the first call can be admitted.
    await redis.sadd(redisKeys.workspaces, workspaceId);
    // The month that admissions count in is Redis' own, too.
    const [seconds] = await redis.time();
    const month = new Date(Number(seconds) * 1_000).toISOString().slice(0, 7);
    const { statusCode, body } = await request(
      `${ledgerUrl}/internal/workspaces/${encodeURIComponent(workspaceId)}/balances?month=${month}`,
      {
        headers: internalHeaders('usage-ledger'),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      },
    );
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`usage-ledger answered ${statusCode} to a question for balances`);
    const balances = balancesSchema.parse(JSON.parse(text));
    await assertComplete(workspaceId, balances);
    const keys = Object.entries(balances.keys);
    const changed = await loadBalances(
      [
        redisKeys.wallet(workspaceId),
        redisKeys.months(workspaceId),
        ...keys.map(([keyId]) => redisKeys.key(workspaceId, keyId)),
      ],
      [
        balances.credit_seq,
        balances.credited_nano_usd.toString(),
        balances.spent_nano_usd.toString(),
        month,
        balances.month_spent_nano_usd.toString(),
        ...keys.map(([, spent]) => spent.toString()),
      ],
    );
    if (loadedAt.size >= MAX_WORKSPACES) loadedAt.clear();
    loadedAt.set(workspaceId, performance.now());
    return changed === 1;
  }

  /**
   * A workspace that has spent is missing in Redis only after Redis was lost. Its balances may come back only when the
   * ledger has read its log to the end, or what it spent last would be spent again.
   */
  async function assertComplete(workspaceId: string, balances: z.output<typeof balancesSchema>): Promise<void> {
    if (balances.spent_nano_usd === 0n || balances.event_log_lag === 0) return;
    if ((await redis.exists(redisKeys.wallet(workspaceId))) === 1) return;
    throw new Error('balances were lost, and the ledger has not read its log to the end');
  }

  function load(workspaceId: string): Promise<boolean> {
    const running = loading.get(workspaceId);
    if (running) return running;
    const bringing = bring(workspaceId).finally(() => loading.delete(workspaceId));
    loading.set(workspaceId, bringing);
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
