import type { RedisCounters } from '@turnpike/internal-api/modelRouter';
import type { AbsorbedWorkspace } from '../balances/absorb.ts';
import { type Check, toCheck } from './check.ts';

type Calls = RedisCounters['calls'];
type Counters = RedisCounters['months'];

/** Compares Redis' pending sums, in all and of each key and month, with its own pending calls of the same instant. */
export function comparePending(counters: RedisCounters): Check[] {
  const { calls } = counters;
  const apart = (counted: Counters, nameOf: (call: Calls[number]) => string): number => {
    const callsOf = Map.groupBy(calls, nameOf);
    const names = new Set([...Object.keys(counted), ...callsOf.keys()]);
    return [...names].filter((name) => {
      const own = callsOf.get(name) ?? [];
      const { held_nano_usd: held = 0n, ended_nano_usd: ended = 0n } = counted[name] ?? {};
      return held !== sumOf(own, 'held') || ended !== sumOf(own, 'ended');
    }).length;
  };
  const keysApart = apart(counters.keys, ({ key_id: keyId }) => keyId);
  const monthsApart = apart(counters.months, ({ month }) => month);
  return [
    toCheck('redisHeld', 'nano_usd', counters.held_nano_usd, sumOf(calls, 'held')),
    toCheck('redisEnded', 'nano_usd', counters.ended_nano_usd, sumOf(calls, 'ended')),
    toCheck('redisPendingApart', 'count', BigInt(keysApart + monthsApart), 0n),
  ];
}

const sumOf = (calls: Calls, kind: Calls[number]['kind']): bigint =>
  calls.filter((call) => call.kind === kind).reduce((sum, call) => sum + call.amount_nano_usd, 0n);

/** Postings to a workspace's wallet after the states that Redis has. */
export interface PostedSince {
  /** Posted after the wallet's state; undefined if postings have no sequence yet. */
  walletNanoUsd: bigint | undefined;
  /** Charged to each key after the key's state. */
  chargedNanoUsdByKey: Map<string, bigint>;
}

/**
 * Compares the sums that Redis has taken over with those of the ledger, which were read later. Each sum names its
 * state. The ledger's sum in that state follows from the later postings, so a difference is an error while the ledger
 * continues. The sums of an older month are only known to rise. Redis can never be ahead of the ledger.
 */
export function compareSums(
  counters: RedisCounters,
  timeline: number,
  { books, since }: { books: AbsorbedWorkspace; since: PostedSince },
): Check[] {
  const keys = Object.entries(counters.keys);
  const months = Object.entries(counters.months);
  if (counters.left_nano_usd === null) {
    const orphans = [...keys, ...months].filter(([, { spent_nano_usd: spent }]) => spent !== null);
    return [toCheck('redisWallet', 'count', BigInt(orphans.length), 0n)];
  }
  const named = [
    ...keys.map(([keyId, counted]) => ({
      ...counted,
      recorded: books.spentNanoUsdByKey.get(keyId) ?? 0n,
      since: since.walletNanoUsd === undefined ? undefined : (since.chargedNanoUsdByKey.get(keyId) ?? 0n),
    })),
    ...keys.flatMap(([keyId, { period }]) =>
      period ? [{ ...period, recorded: books.sinceByKey.get(keyId)?.spentNanoUsd ?? 0n, since: undefined }] : [],
    ),
    ...months.map(([month, counted]) => ({
      ...counted,
      recorded: books.spentNanoUsdByMonth.get(month) ?? 0n,
      since: undefined,
    })),
  ];
  const place = { timeline, seq: books.seq };
  const ahead = [counters, ...named].filter((sum) => compareVersions(sum, place) === 'ahead').length;
  const apart = named.filter(({ spent_nano_usd: spent, recorded, since: charged, ...sum }) => {
    if (spent === null || sum.timeline !== timeline) return false;
    if (compareVersions(sum, place) === 'same') return spent !== recorded;
    return charged === undefined ? spent > recorded : spent !== recorded - charged;
  });
  const walletPlace = compareVersions(counters, place);
  const isBehind = walletPlace === 'behind' && counters.timeline === timeline;
  const left = books.leftNanoUsd - (isBehind ? (since.walletNanoUsd ?? 0n) : 0n);
  const isDecided = walletPlace === 'same' || (isBehind && since.walletNanoUsd !== undefined);
  const leftCheck = toCheck('redisLeft', 'nano_usd', counters.left_nano_usd, left);
  return [
    toCheck('redisAhead', 'count', BigInt(ahead), 0n),
    isDecided ? leftCheck : { ...leftCheck, verdict: 'undecided' },
    toCheck('redisSpentApart', 'count', BigInt(apart.length), 0n),
  ];
}

interface BalanceVersion {
  timeline: number;
  seq: number;
}

function compareVersions(
  { timeline, seq }: { timeline: number | null; seq: number | null },
  ledger: BalanceVersion,
): 'behind' | 'same' | 'ahead' {
  const [redisTimeline, redisSeq] = [timeline ?? 0, seq ?? 0];
  if (redisTimeline !== ledger.timeline) return redisTimeline < ledger.timeline ? 'behind' : 'ahead';
  if (redisSeq === ledger.seq) return 'same';
  return redisSeq < ledger.seq ? 'behind' : 'ahead';
}
