import { readFileSync } from 'node:fs';
import { parseUsageRecorded } from '@turnpike/events/usageRecorded';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { RedisEpoch } from '../redis/redisEpoch.ts';
import { redisKeys } from '../redis/redisKeys.ts';
import type { BalanceLoader } from './loadBalances.ts';

/** Spent, and held by calls under way. */
export interface CountedBalance {
  spentNanoUsd: NanoUsd;
  heldNanoUsd: NanoUsd;
}

/** A call whose ending the event log may not have yet. */
export interface CountedCall {
  callId: string;
  keyId: string;
  /** `swept`: its router was lost, and its hold given back. */
  state: 'held' | 'settled' | 'swept';
  holdNanoUsd: NanoUsd;
  /** The charge of a settled call; 0 in the other states. */
  chargeNanoUsd: NanoUsd;
  /** The router that has it. */
  owner: string;
  admittedAtMs: number;
  /** Below 0, a held call has lost its router and waits for the sweeper. */
  leaseEndsInMs: number;
}

/** All that Redis counts for one workspace, at one instant. */
export interface Counters extends CountedBalance {
  /** The instant by Redis' clock, which also dates admissions. */
  nowMs: number;
  epoch: number;
  /** The ledger's number of the last credit that is counted here. */
  creditSeq: number;
  creditedNanoUsd: NanoUsd;
  /** All calls ever admitted: those the ledger had when the balances were loaded, and those since. */
  admittedCalls: number;
  /**
   * Calls from before Redis was lost that a sweeper added to those, without the ledger having been asked: it may have had any
   * of them already.
   */
  uncertainCalls: number;
  keys: (CountedBalance & { keyId: string })[];
  /** By `YYYY-MM`. Only the month of the load and later ones are whole. */
  months: Record<string, CountedBalance>;
  calls: CountedCall[];
  /** How many open calls to pass over for the next of them; undefined where these are all. */
  nextAfter: number | undefined;
}

const SCRIPT = readFileSync(new URL('./readCounters.lua', import.meta.url), 'utf8');
/** Calls read at one instant. */
const CALLS_PER_PAGE = 5_000;

const hash = z
  .array(z.string())
  .transform((flat) => new Map(flat.flatMap((name, index) => (index % 2 ? [] : [[name, flat[index + 1] ?? '']]))));
const text = z.string();
const keySchema = z.tuple([text, text, text, text]);
const callSchema = z.tuple([text, text, text, text, text, text, text, text, text, text, text]);
const answerSchema = z.tuple([text, hash, hash, z.array(keySchema), z.array(callSchema), z.number()]);
const stateSchema = z.enum(['held', 'settled', 'swept']);

/** Reads a workspace's books, having brought its balances of the epoch in force if they were not there. */
export async function readCounters(
  { redis, balances, epoch }: { redis: Redis; balances: Pick<BalanceLoader, 'load'>; epoch: Pick<RedisEpoch, 'stamp'> },
  { workspaceId, after }: { workspaceId: string; after: number },
): Promise<Counters> {
  const number = String(epoch.stamp.number);
  if ((await redis.hget(redisKeys.wallet(workspaceId), 'epoch')) !== number) await balances.load(workspaceId);
  const names = [redisKeys.wallet, redisKeys.months, redisKeys.keys, redisKeys.calls].map((of) => of(workspaceId));
  const prefixes = [redisKeys.key(workspaceId, ''), redisKeys.call(workspaceId, '')];
  const answer = await redis.eval(SCRIPT, names.length, ...names, ...prefixes, after, CALLS_PER_PAGE);
  const [now, wallet, months, counters, calls, openCalls] = answerSchema.parse(answer);
  const nowMs = Number(now);
  const counted = wallet.get('epoch') ?? '0';
  const monthNames = new Set([...months.keys()].map((name) => name.slice(0, 'YYYY-MM'.length)));
  return {
    nowMs,
    epoch: Number(counted),
    creditSeq: Number(amountOf(wallet, 'credit_seq')),
    creditedNanoUsd: amountOf(wallet, 'credited'),
    spentNanoUsd: amountOf(wallet, 'spent'),
    heldNanoUsd: amountOf(wallet, 'held'),
    admittedCalls: Number(amountOf(wallet, 'admitted')),
    uncertainCalls: Number(amountOf(wallet, 'uncertain')),
    keys: counters
      .filter(([, keyEpoch]) => keyEpoch === counted)
      .map(([keyId, , spent, held]) => ({ keyId, spentNanoUsd: BigInt(spent), heldNanoUsd: BigInt(held) })),
    months: Object.fromEntries(
      [...monthNames].map((month) => [
        month,
        { spentNanoUsd: amountOf(months, `${month}:spent`), heldNanoUsd: amountOf(months, `${month}:held`) },
      ]),
    ),
    calls: calls.flatMap((call) => toCall(call, { counted, nowMs }) ?? []),
    nextAfter: after + calls.length < openCalls ? after + calls.length : undefined,
  };
}

const amountOf = (fields: Map<string, string | undefined>, name: string): bigint => BigInt(fields.get(name) ?? 0);

/** Undefined for what is left of a call that these balances do not count, or count as the ledger's row of it. */
function toCall(
  [callId, leaseEnd, state, callEpoch, keyId, hold, owner, admittedAt, eventJson, asked, how]: z.output<
    typeof callSchema
  >,
  { counted, nowMs }: { counted: string; nowMs: number },
): CountedCall | undefined {
  const known = stateSchema.safeParse(state).data;
  const isAwaited = asked === counted && how === 'awaited';
  if (!known || (callEpoch !== counted && !isAwaited)) return undefined;
  return {
    callId,
    keyId,
    state: known,
    holdNanoUsd: BigInt(hold),
    chargeNanoUsd: known === 'settled' ? parseUsageRecorded(eventJson).chargeNanoUsd : 0n,
    owner,
    admittedAtMs: Number(admittedAt),
    leaseEndsInMs: Number(leaseEnd) - nowMs,
  };
}

/** A key's spend and what its running calls hold, from the same counters the gate uses. */
export async function findKeySpend(
  { redis, balances, epoch }: { redis: Redis; balances: BalanceLoader; epoch: Pick<RedisEpoch, 'stamp'> },
  { workspaceId, keyId }: { workspaceId: string; keyId: string },
): Promise<{ spentNanoUsd: NanoUsd; heldNanoUsd: NanoUsd }> {
  const number = String(epoch.stamp.number);
  if ((await redis.hget(redisKeys.wallet(workspaceId), 'epoch')) !== number) await balances.load(workspaceId);
  const [counted, spent, held] = await redis.hmget(redisKeys.key(workspaceId, keyId), 'epoch', 'spent', 'held');
  if (counted !== number) return { spentNanoUsd: 0n, heldNanoUsd: 0n };
  return { spentNanoUsd: BigInt(spent ?? 0), heldNanoUsd: BigInt(held ?? 0) };
}
