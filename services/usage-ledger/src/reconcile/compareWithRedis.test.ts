import { expect, it } from '@jest/globals';
import type { RedisCounters } from '@turnpike/internal-api/modelRouter';
import type { AbsorbedWorkspace } from '../balances/absorb.ts';
import { comparePending, compareSums, type PostedSince } from './compareWithRedis.ts';

const aCall = (fields: Partial<RedisCounters['calls'][number]> = {}): RedisCounters['calls'][number] => ({
  call_id: 'c1',
  key_id: 'k1',
  kind: 'held',
  amount_nano_usd: 5n,
  month: '2026-11',
  session: 's1',
  has_live_session: true,
  owner: 'r1',
  admitted_at_ms: 0,
  ...fields,
});
const pending = { held_nano_usd: 5n, ended_nano_usd: 3n };
const at = (seq: number, spent: bigint) => ({ timeline: 2, seq, spent_nano_usd: spent });
/** Counters of a workspace with a pending call and an ended one, at place 7 of timeline 2. */
const redis = (fields: Partial<RedisCounters> = {}): RedisCounters => ({
  now_ms: 0,
  mark: 'm',
  timeline: 2,
  seq: 7,
  left_nano_usd: 100n,
  ...pending,
  keys: { k1: { ...at(7, 40n), ...pending }, k2: { ...at(6, 20n), held_nano_usd: 0n, ended_nano_usd: 0n } },
  months: { '2026-11': { ...at(7, 60n), ...pending } },
  calls: [aCall(), aCall({ call_id: 'c2', kind: 'ended', amount_nano_usd: 3n })],
  next_after: null,
  ...fields,
});
const ledger = (fields: Partial<AbsorbedWorkspace> = {}): AbsorbedWorkspace => ({
  workspaceId: 'w',
  seq: 7,
  leftNanoUsd: 100n,
  spentNanoUsdByMonth: new Map([['2026-11', 60n]]),
  spentNanoUsdByKey: new Map([
    ['k1', 40n],
    ['k2', 20n],
  ]),
  sinceByKey: new Map(),
  finalCallIds: [],
  unknownCallIds: [],
  deadLetterCallIds: [],
  ...fields,
});

const keysWith = (name: 'k1' | 'k2', fields: Partial<RedisCounters['keys'][string]>): RedisCounters['keys'] => {
  const { keys } = redis();
  return { ...keys, [name]: { ...(keys[name] as RedisCounters['keys'][string]), ...fields } };
};

it.each<[string, Partial<RedisCounters>, string[]]>([
  ['nothing', {}, []],
  ['a hold that no sum has', { held_nano_usd: 0n }, ['redisHeld']],
  ['a charge that no sum has', { ended_nano_usd: 0n }, ['redisEnded']],
  ['a sum of a key that no call has', { keys: keysWith('k2', { held_nano_usd: 1n }) }, ['redisPendingApart']],
  ['a sum of a key that is missing', { keys: {} }, ['redisPendingApart']],
  [
    'a call in another month than its sums',
    { calls: [aCall({ month: '2026-12' }), aCall({ kind: 'ended', amount_nano_usd: 3n })] },
    ['redisPendingApart'],
  ],
])('of pending sums notices %s', (_what, fields, names) => {
  const checks = comparePending(redis(fields));
  expect(checks.filter(({ verdict }) => verdict !== 'equal').map(({ name }) => name)).toEqual(names);
});

it('compares a workspace of very many keys and calls without standing still', () => {
  const held = { held_nano_usd: 5n, ended_nano_usd: 0n };
  const names = Array.from({ length: 100_000 }, (_, nth) => `k${nth}`);
  const calls = names.slice(0, 1_000).map((name) => aCall({ call_id: name, key_id: name }));
  const keys = Object.fromEntries(
    names.map((name, nth) => [name, { ...at(7, 1n), ...(nth < 1_000 ? held : { ...held, held_nano_usd: 0n }) }]),
  );
  const all = { ...held, held_nano_usd: 5_000n };
  let looks = 0;
  const counted = calls.map((call) => Object.defineProperty(call, 'key_id', { get: () => names[looks++ % 1_000] }));
  const checks = comparePending(
    redis({ ...all, keys, months: { '2026-11': { ...at(7, 1n), ...all } }, calls: counted }),
  );
  expect(checks.every(({ verdict }) => verdict === 'equal')).toBe(true);
  // The check reads the key of each call once or twice, and not once for each key.
  expect(looks).toBeLessThanOrEqual(2_000);
});

const SINCE = new Map([['k1', { day: '2026-11-23', spentNanoUsd: 30n }]]);
const periodAt = (seq: number, spent: bigint) => ({ since: '2026-11-23', ...at(seq, spent) });

const unplaced: PostedSince = { walletNanoUsd: undefined, chargedNanoUsdByKey: new Map() };
/** Posted after the places of Redis. */
const posted = (walletNanoUsd: bigint, charged: Record<string, bigint> = {}): PostedSince => ({
  walletNanoUsd,
  chargedNanoUsdByKey: new Map(Object.entries(charged)),
});

it.each<[string, Partial<RedisCounters>, Partial<AbsorbedWorkspace>, string[], PostedSince?]>([
  ['equal sums at one place', {}, {}, []],
  ['what is not loaded', { left_nano_usd: null, mark: null, keys: {}, months: {} }, { leftNanoUsd: 5n }, []],
  ['a wallet that was lost alone', { left_nano_usd: null, mark: null }, {}, ['redisWallet different']],
  ['another balance at one place', { left_nano_usd: 101n }, {}, ['redisLeft different']],
  ['another balance at an earlier place', { left_nano_usd: 101n, seq: 6 }, {}, ['redisLeft undecided']],
  ['the balance of an earlier place', { left_nano_usd: 130n, seq: 6 }, {}, [], posted(-30n)],
  [
    'another balance than that of its earlier place',
    { left_nano_usd: 131n, seq: 6 },
    {},
    ['redisLeft different'],
    posted(-30n),
  ],
  ['today’s balance at an earlier place', { left_nano_usd: 100n, seq: 6 }, {}, ['redisLeft different'], posted(-30n)],
  [
    'another balance on an earlier timeline',
    { left_nano_usd: 101n, timeline: 1, seq: 90 },
    {},
    ['redisLeft undecided'],
  ],
  ['the same balance at an earlier place, which tells nothing', { seq: 6 }, {}, ['redisLeft undecided']],
  ['a later place than the ledger’s', { seq: 8 }, {}, ['redisAhead different', 'redisLeft undecided']],
  ['a key’s later place', { keys: keysWith('k1', { seq: 8 }) }, {}, ['redisAhead different']],
  ['a later timeline', { timeline: 3, seq: 1 }, {}, ['redisAhead different', 'redisLeft undecided']],
  [
    'another spend of a key at one place',
    { keys: keysWith('k1', { spent_nano_usd: 39n }) },
    {},
    ['redisSpentApart different'],
  ],
  ['less spend of a key at an earlier place', { keys: keysWith('k2', { spent_nano_usd: 19n }) }, {}, []],
  [
    'more spend of a key at an earlier place',
    { keys: keysWith('k2', { spent_nano_usd: 21n }) },
    {},
    ['redisSpentApart different'],
  ],
  [
    'less spend of a key than at its earlier place',
    { keys: keysWith('k2', { spent_nano_usd: 14n }) },
    {},
    ['redisSpentApart different'],
    posted(0n, { k2: 5n }),
  ],
  [
    'the spend of a key at its earlier place',
    { keys: keysWith('k2', { spent_nano_usd: 15n }) },
    {},
    [],
    posted(0n, { k2: 5n }),
  ],
  ['a key’s spend of its period', { keys: keysWith('k1', { period: periodAt(7, 30n) }) }, { sinceByKey: SINCE }, []],
  [
    'another spend of a key’s period at one place',
    { keys: keysWith('k1', { period: periodAt(7, 29n) }) },
    { sinceByKey: SINCE },
    ['redisSpentApart different'],
  ],
  [
    'less spend of a key’s period at an earlier place',
    { keys: keysWith('k1', { period: periodAt(6, 29n) }) },
    { sinceByKey: SINCE },
    [],
  ],
  [
    'more spend of a key’s period at an earlier place',
    { keys: keysWith('k1', { period: periodAt(6, 31n) }) },
    { sinceByKey: SINCE },
    ['redisSpentApart different'],
  ],
  ['another spend of a month at one place', {}, { spentNanoUsdByMonth: new Map() }, ['redisSpentApart different']],
  [
    'a key whose spend is not loaded',
    { keys: keysWith('k1', { spent_nano_usd: null, seq: null, timeline: null }) },
    {},
    [],
  ],
])('of recorded sums judges %s', (_what, counters, books, expected, since = unplaced) => {
  const checks = compareSums(redis(counters), 2, { books: ledger(books), since });
  expect(checks.filter(({ verdict }) => verdict !== 'equal').map(({ name, verdict }) => `${name} ${verdict}`)).toEqual(
    expected,
  );
});
