import { createClient } from '@turnpike/internal-api/createClient';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import type { Redis } from 'ioredis';
import { validate as isUuid } from 'uuid';
import { z } from 'zod';
import type { EpochStamp, RedisEpoch } from '../redis/redisEpoch.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import { defineScript } from '../redis/redisScript.ts';
import { readRedisTime } from '../redis/redisServer.ts';

/** A refused call asks for newer credits; more often than this a workspace's refusals share one answer. */
const REFRESH_INTERVAL_MS = 500;
const MAX_WORKSPACES = 10_000;
/**
 * Most calls of a workspace that the ledger is asked for: first those that are to be put back. Of more, those that are swept
 * are noted as uncertain.
 */
const MAX_CALLS = 10_000;
/** A clock that is set back by so much still finds the month of then whole. */
const CLOCK_SET_BACK_MS = 24 * 3_600_000;

/** The ledger's sums of one workspace, all of one instant. */
export interface RecordedRows {
  /** All of its calls that have a row. */
  count: number;
  /** The calls asked for that have a row. */
  callIds: ReadonlySet<string>;
}

export interface BalanceLoader {
  /**
   * Brings a workspace's balances of the epoch in force into Redis, or its newer credits. One request at a time for a
   * workspace. Says whether anything changed. Rejects while the ledger cannot give that epoch's balances.
   */
  load(workspaceId: string): Promise<boolean>;
  /** Does what `load` does, at most every 500 ms. */
  refresh(workspaceId: string): Promise<boolean>;
  /**
   * Does what `load` does, but asks the ledger after this call began: what the ledger had then is counted, even when
   * another load is under way.
   */
  reload(workspaceId: string): Promise<boolean>;
  /**
   * Brings the balances of an epoch that is being built, for calls that are to be put back into them. Resolves with what the
   * ledger said of its rows; where another router was first, the balances may be of another instant.
   */
  loadFor(workspaceId: string, stamp: EpochStamp, callIds: string[]): Promise<RecordedRows>;
}

export interface BalanceLoaderOptions {
  redis: Redis;
  ledgerUrl: string;
  internalHeaders: (audience: string) => Record<string, string>;
  /** Longest wait for the ledger. */
  timeoutMs?: number;
  epoch: Pick<RedisEpoch, 'stamp' | 'reportMissingCall'>;
}

const outcomeSchema = z.enum(['changed', 'unchanged', 'other_redis', 'emptied']);

/** The ledger owns credits; Redis holds what the gate counts with. This carries the one to the other. */
export function createBalanceLoader({
  redis,
  ledgerUrl,
  internalHeaders,
  epoch,
  timeoutMs = 1_000,
}: BalanceLoaderOptions): BalanceLoader {
  const loadBalances = defineScript(redis, new URL('./loadBalances.lua', import.meta.url));
  const ledger = createClient(usageLedgerApi, { url: ledgerUrl, internalHeaders, timeoutMs });
  const loading = new Map<string, Promise<boolean>>();
  const loadedAt = new Map<string, number>();

  function refuseEmptied(number: number): Error {
    if (number === epoch.stamp.number) epoch.reportMissingCall();
    return new Error('this Redis has no balances of the epoch');
  }

  /** `YYYY-MM`, by Redis' clock, which admissions are dated by: the month before counts as well where the turn is near. */
  async function findFirstMonth(): Promise<string> {
    return new Date((await readRedisTime(redis)) - CLOCK_SET_BACK_MS).toISOString().slice(0, 7);
  }

  /** Calls from before, whose records the balances that are to come know nothing of. */
  async function findEarlierCalls(workspaceId: string, number: number): Promise<string[]> {
    if ((await redis.hget(redisKeys.wallet(workspaceId), 'epoch')) === String(number)) return [];
    const callIds = await redis.zrange(redisKeys.calls(workspaceId), 0, MAX_CALLS - 1);
    return callIds.filter((callId) => isUuid(callId));
  }

  async function bring(
    workspaceId: string,
    { number, redisId }: EpochStamp,
    callIds: string[] = [],
  ): Promise<{ hasChanged: boolean; rows: RecordedRows }> {
    // An emptied Redis has lost the mark as well: balances loaded now would lack the holds.
    if ((await redis.get(redisKeys.epoch)) !== String(number)) throw refuseEmptied(number);
    // For routers of the version before, whose admissions do not put it there.
    await redis.sadd(redisKeys.workspaces, workspaceId);
    const month = await findFirstMonth();
    const found = await findEarlierCalls(workspaceId, number);
    const asked = new Set([...new Set([...callIds, ...found])].slice(0, MAX_CALLS));
    const earlier = found.filter((callId) => asked.has(callId));
    const balances = await ledger.loadBalances({
      params: { workspace_id: workspaceId },
      body: { month, epoch: number, calls: [...asked] },
    });
    const rows = { count: balances.requests, callIds: new Set(balances.recorded) };
    const [months, keys] = [Object.entries(balances.months), Object.entries(balances.keys)];
    const answer = await loadBalances(
      [
        redisKeys.wallet(workspaceId),
        redisKeys.months(workspaceId),
        redisKeys.keys(workspaceId),
        redisKeys.epoch,
        ...keys.map(([keyId]) => redisKeys.key(workspaceId, keyId)),
        ...earlier.map((callId) => redisKeys.call(workspaceId, callId)),
      ],
      [
        number,
        redisId,
        balances.credit_seq,
        balances.credited_nano_usd.toString(),
        balances.spent_nano_usd.toString(),
        rows.count,
        months.length,
        keys.length,
        redisKeys.key(workspaceId, ''),
        ...[...months, ...keys].flatMap(([name, spent]) => [name, spent.toString()]),
        ...earlier.map((callId) => (rows.callIds.has(callId) ? '1' : '0')),
      ],
    );
    if (loadedAt.size >= MAX_WORKSPACES) loadedAt.clear();
    loadedAt.set(workspaceId, performance.now());
    const outcome = outcomeSchema.parse(answer);
    if (outcome === 'emptied') throw refuseEmptied(number);
    if (outcome === 'other_redis') throw new Error('balances belong to another Redis or epoch');
    return { hasChanged: outcome === 'changed', rows };
  }

  const toQuestion = (workspaceId: string): string => `${epoch.stamp.number} ${workspaceId}`;

  function load(workspaceId: string): Promise<boolean> {
    const question = toQuestion(workspaceId);
    const running = loading.get(question);
    if (running) return running;
    const bringing = bring(workspaceId, epoch.stamp)
      .then(({ hasChanged }) => hasChanged)
      .finally(() => loading.delete(question));
    loading.set(question, bringing);
    return bringing;
  }

  return {
    load,
    async reload(workspaceId) {
      // The ledger may have answered that one already. Who waits here as well shares the one that follows.
      await loading.get(toQuestion(workspaceId))?.catch(() => undefined);
      return load(workspaceId);
    },
    async loadFor(workspaceId, stamp, callIds) {
      const { rows } = await bring(workspaceId, stamp, callIds);
      return rows;
    },
    async refresh(workspaceId) {
      if (performance.now() - (loadedAt.get(workspaceId) ?? Number.NEGATIVE_INFINITY) < REFRESH_INTERVAL_MS)
        return false;
      return load(workspaceId);
    },
  };
}
