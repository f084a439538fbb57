import { type BudgetPeriod, sinceOf } from '@turnpike/internal-api/budgetPeriod';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { z } from 'zod';
import { defineWorkspaceScript, readRedisTime } from '../redis/askRedis.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import type { Shard } from '../redis/shards.ts';
import type { Absorber } from './absorb.ts';

/** Recorded sum as of a place in the ledger, and sums of the pending calls, running and ended. */
export interface Counter {
  /** Undefined where no sum has been loaded. */
  spentNanoUsd: NanoUsd | undefined;
  timeline: number | undefined;
  sequence: number | undefined;
  heldNanoUsd: NanoUsd;
  endedNanoUsd: NanoUsd;
}

/** Counter of a key. */
export interface KeyCounter extends Counter {
  /** Recorded sum since the first day of its period. Undefined if that is not loaded. */
  period: (Pick<Counter, 'timeline' | 'sequence'> & { since: string; spentNanoUsd: NanoUsd }) | undefined;
}

/** A call that the ledger's sums in Redis do not contain. */
export interface PendingCall {
  callId: string;
  keyId: string;
  kind: 'held' | 'ended';
  /** The hold, then the charge. */
  amountNanoUsd: NanoUsd;
  /** `YYYY-MM` of its admission. */
  month: string;
  session: string;
  hasLiveSession: boolean;
  /** The owner that admitted it. */
  owner: string;
  admittedAtMs: number;
}

/**
 * All that Redis counts for one workspace. Calls, wallet, months, and every key that has pending calls are of one instant. Every other key
 * is of an instant before, at which nothing of it was pending. The first page of calls alone has all keys.
 */
export interface Counters extends Omit<Counter, 'spentNanoUsd'> {
  /** The instant by Redis' clock, which also dates admissions. */
  nowMs: number;
  /** Under which the workspace is loaded; undefined where it is not. */
  mark: string | undefined;
  /** Credited less recorded. */
  leftNanoUsd: NanoUsd | undefined;
  keys: Record<string, KeyCounter>;
  /** Keyed by `YYYY-MM`. */
  months: Record<string, Counter>;
  calls: PendingCall[];
  /** Cursor of the rest of the calls, if there are more; to be read at another instant. */
  nextAfter: string | undefined;
}

/** About as many calls as are read at one instant. */
const CALLS_PER_PAGE = 1_000;
/** Keys that are read between two looks at anything else. */
const KEYS_PER_PAGE = 500;
/** Keys without a call on the page that are read again with it. */
const MAX_BUSY_KEYS = 2_000;

const hash = z
  .array(z.string())
  .transform((flat) => new Map(flat.flatMap((name, index) => (index % 2 ? [] : [[name, flat[index + 1] ?? '']]))));
type Fields = Map<string, string>;
const text = z.string();
const answerSchema = z.tuple([
  text,
  hash,
  hash,
  z.array(z.tuple([text, hash])),
  z.array(z.tuple([text, text, hash])),
  text,
]);
const kindSchema = z.enum(['held', 'ended']);

/** Makes `readCounters(workspaceId, { after })`, for audits; what is not loaded is not brought. */
export function createReadCounters(
  shard: Pick<Shard, 'redis' | 'tag'>,
): (workspaceId: string, after: string) => Promise<Counters> {
  const readCounters = defineWorkspaceScript(shard.redis, 'readCounters');
  return async (workspaceId, after) => {
    const known = after === '0' ? await readKeys(shard, workspaceId) : new Map<string, KeyCounter>();
    const busy = [...known].filter(([, { heldNanoUsd, endedNanoUsd }]) => heldNanoUsd !== 0n || endedNanoUsd !== 0n);
    // Their pending sums were of another instant than the calls.
    for (const [keyId, counter] of busy) known.set(keyId, { ...counter, heldNanoUsd: 0n, endedNanoUsd: 0n });
    const again = busy.slice(0, MAX_BUSY_KEYS).map(([keyId]) => keyId);
    const answer = await readCounters(workspaceId, '', [after, CALLS_PER_PAGE, ...again]);
    const [nowMs, wallet, months, keys, calls, cursor] = answerSchema.parse(answer);
    for (const [keyId, fields] of keys) known.set(keyId, toKeyCounter(fields));
    const { spentNanoUsd: _, ...sums } = toCounter(wallet);
    const monthNames = new Set([...months.keys()].map((name) => name.slice(0, 'YYYY-MM'.length)));
    return {
      ...sums,
      nowMs: Number(nowMs),
      mark: wallet.get('loaded'),
      leftNanoUsd: toAmount(wallet.get('left')),
      keys: Object.fromEntries(known),
      months: Object.fromEntries([...monthNames].map((month) => [month, toCounter(months, `${month}:`)])),
      calls: await toCalls(shard, calls),
      nextAfter: cursor === '0' ? undefined : cursor,
    };
  };
}

/** Every key that is counted, each of its own instant: one command for all would hold Redis up. */
async function readKeys({ redis }: Pick<Shard, 'redis'>, workspaceId: string): Promise<Map<string, KeyCounter>> {
  const known = new Map<string, KeyCounter>();
  let cursor = '0';
  do {
    const [next, keyIds] = await redis.sscan(redisKeys.keys(workspaceId), cursor, 'COUNT', KEYS_PER_PAGE);
    await Promise.all(
      keyIds.map(async (keyId) => {
        const fields = await redis.hgetall(redisKeys.key(workspaceId, keyId));
        known.set(keyId, toKeyCounter(new Map(Object.entries(fields))));
      }),
    );
    cursor = next;
  } while (cursor !== '0');
  return known;
}

const toAmount = (digits: string | undefined): bigint | undefined =>
  digits === undefined ? undefined : BigInt(digits);
const toCount = (digits: string | undefined): number | undefined => (digits === undefined ? undefined : Number(digits));

const toCounter = (fields: Fields, prefix = ''): Counter => ({
  spentNanoUsd: toAmount(fields.get(`${prefix}spent`)),
  timeline: toCount(fields.get(`${prefix}timeline`)),
  sequence: toCount(fields.get(`${prefix}sequence`)),
  heldNanoUsd: toAmount(fields.get(`${prefix}held`)) ?? 0n,
  endedNanoUsd: toAmount(fields.get(`${prefix}ended`)) ?? 0n,
});

function toKeyCounter(fields: Fields): KeyCounter {
  const [since, spentNanoUsd] = [fields.get('since'), toAmount(fields.get('since_spent'))];
  const isLoaded = fields.has('since_loaded') && since !== undefined && spentNanoUsd !== undefined;
  const place = { timeline: toCount(fields.get('since_timeline')), sequence: toCount(fields.get('since_sequence')) };
  return { ...toCounter(fields), period: isLoaded ? { since, spentNanoUsd, ...place } : undefined };
}

async function toCalls(
  { redis, tag }: Pick<Shard, 'redis' | 'tag'>,
  calls: [string, string, Fields][],
): Promise<PendingCall[]> {
  const sessions = [...new Set(calls.map(([, session]) => session))];
  const alive = await Promise.all(sessions.map((session) => redis.exists(redisKeys.session(tag, session))));
  const live = new Set(sessions.filter((_, index) => alive[index] === 1));
  return calls.flatMap(([callId, session, fields]) => {
    const kind = kindSchema.safeParse(fields.get('kind')).data;
    if (!kind) return [];
    return {
      callId,
      keyId: fields.get('key') ?? '',
      kind,
      amountNanoUsd: toAmount(fields.get('amount')) ?? 0n,
      month: fields.get('month') ?? '',
      session,
      hasLiveSession: live.has(session),
      owner: fields.get('owner') ?? '',
      admittedAtMs: Number(fields.get('admitted_at')),
    };
  });
}

/** Spend and what running calls hold, from the same counters the gate uses. */
export interface KeySpend {
  spentNanoUsd: NanoUsd;
  heldNanoUsd: NanoUsd;
  /** Spend of the asked period. Undefined where it is not loaded, as the key has another period by now. */
  periodSpentNanoUsd: NanoUsd | undefined;
}

export interface AskedSpend {
  workspaceId: string;
  keyId: string;
  period?: BudgetPeriod | undefined;
}

/** Returns the spend of a key, in all and in its period. Has the ledger's sums loaded first if Redis lacks them. */
export async function findKeySpend(
  { redis, tag }: Pick<Shard, 'redis' | 'tag'>,
  absorber: Pick<Absorber, 'load'>,
  { workspaceId, keyId, period }: AskedSpend,
): Promise<KeySpend> {
  const since = period && sinceOf(period, await readRedisTime(redis));
  const read = async () => {
    const [fields, mark] = await Promise.all([
      redis.hgetall(redisKeys.key(workspaceId, keyId)),
      redis.get(redisKeys.mark(tag)),
    ]);
    const { timeline, sequence, period: known } = toKeyCounter(new Map(Object.entries(fields)));
    // The gate's rule (`readPeriod`).
    const isBehind =
      known?.timeline === timeline
        ? (known?.sequence ?? 0) < (sequence ?? 0)
        : (known?.timeline ?? 0) < (timeline ?? 0);
    const hasPeriod = mark !== null && fields.since_loaded === mark && known?.since === since && !isBehind;
    return {
      isLoaded: mark !== null && fields.loaded === mark && (hasPeriod || !since),
      spentNanoUsd: sumOf(fields.spent, fields.ended),
      heldNanoUsd: BigInt(fields.held ?? 0),
      periodSpentNanoUsd: hasPeriod ? sumOf(fields.since_spent, fields.ended) : undefined,
    };
  };
  const known = await read();
  if (known.isLoaded) return known;
  await absorber.load(workspaceId, keyId, '', period);
  return read();
}

const WINDOW_US = 60_000_000;
/** A stamp further ahead is of a clock that was set back since. `admit.lua` has the same bound. */
const AHEAD_US = 1_000_000;

/** Requests and tokens that count against the limits per minute of a key now. Both become fewer all the time. */
export interface UsedRates {
  requests: number;
  tokens: number;
}

/** Reads the use of a key's limits per minute as `admit.lua` counts it. Tokens may exceed their limit. */
export async function findUsedRates(
  { redis }: Pick<Shard, 'redis'>,
  { workspaceId, keyId, rpm, tpm }: { workspaceId: string; keyId: string; rpm: number; tpm: number },
): Promise<UsedRates> {
  const [[seconds, micros], [level, at, arrival]] = await Promise.all([
    redis.time(),
    redis.hmget(redisKeys.rates(workspaceId, keyId), 'level', 'at', 'arrival'),
  ]);
  const nowUs = Number(seconds) * 1_000_000 + Number(micros);
  const usedUs = Math.max(Number(arrival ?? 0) - nowUs, 0);
  const ageUs = nowUs - Number(at ?? 0);
  const refilled = Number(level ?? tpm) + (Math.max(ageUs, 0) * tpm) / WINDOW_US;
  return {
    requests: usedUs > WINDOW_US + AHEAD_US ? 0 : Math.max(Math.ceil((usedUs * rpm) / WINDOW_US - 0.000_001), 0),
    tokens: ageUs < -AHEAD_US ? 0 : Math.ceil(Math.max(tpm - refilled, 0)),
  };
}

/** A workspace's balance. `creditNanoUsd` is what is left before holds, and may be negative; `month` is this one by Redis' clock. */
export interface Credit {
  creditNanoUsd: NanoUsd;
  heldNanoUsd: NanoUsd;
  monthSpentNanoUsd: NanoUsd;
}

/** Returns the balance of a workspace. Has the ledger's sums loaded first if Redis lacks them. */
export async function findCredit(
  { redis, tag }: Pick<Shard, 'redis' | 'tag'>,
  absorber: Pick<Absorber, 'load'>,
  workspaceId: string,
): Promise<Credit> {
  const month = new Date(await readRedisTime(redis)).toISOString().slice(0, 'YYYY-MM'.length);
  const read = async () => {
    const [wallet, ofMonth, mark] = await Promise.all([
      redis.hmget(redisKeys.wallet(workspaceId), 'loaded', 'left', 'ended', 'held'),
      redis.hmget(redisKeys.months(workspaceId), `${month}:loaded`, `${month}:spent`, `${month}:ended`),
      redis.get(redisKeys.mark(tag)),
    ]);
    const [loaded, left, ended, held] = wallet;
    const [isMonthLoaded, monthSpent, monthEnded] = ofMonth;
    return {
      isLoaded: mark !== null && loaded === mark && isMonthLoaded === mark,
      creditNanoUsd: BigInt(left ?? 0) - BigInt(ended ?? 0),
      heldNanoUsd: BigInt(held ?? 0),
      monthSpentNanoUsd: sumOf(monthSpent, monthEnded),
    };
  };
  const known = await read();
  if (known.isLoaded) return known;
  await absorber.load(workspaceId, undefined, month);
  return read();
}

const sumOf = (recorded: string | null | undefined, ended: string | null | undefined): NanoUsd =>
  BigInt(recorded ?? 0) + BigInt(ended ?? 0);
