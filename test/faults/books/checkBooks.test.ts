import { describe, expect, it } from '@jest/globals';
import type { CallRecord } from '../load/callRecord.ts';
import { MEDIA_MODELS } from '../stack/faultCatalog.ts';
import type { ServedRequest } from '../stack/simulators.ts';
import { areWhole, checkBooks } from './checkBooks.ts';
import type { BookRules, Evidence } from './evidence.ts';
import type { WorkspaceBalances } from './readBalances.ts';
import type { LedgerRow, LedgerTotals } from './readLedger.ts';

const CALL_ID = '01a1fdc5-cc2d-704b-868a-03753fd16fa2';
const STRICT: BookRules = { unknownAtMost: 0, enginesLie: false, enginesBreak: false, goneWithPostgres: new Set() };
/** One nano-dollar a token. */
const prices = {
  costOf: ({ promptTokens, completionTokens }: { promptTokens: number; completionTokens: number }) =>
    BigInt(promptTokens + completionTokens),
};

const call: CallRecord = {
  callId: CALL_ID,
  keyId: 'key',
  model: 'model',
  isStream: true,
  outcome: 'ok',
  isAdmitted: true,
  error: undefined,
  usage: { promptTokens: 10, completionTokens: 5 },
  deltas: 5,
  longestSilenceMs: 0,
  startedAt: 0,
  endedAt: 1,
};
const served: ServedRequest = {
  requestId: CALL_ID,
  model: 'model',
  isStream: true,
  promptTokens: 10,
  cachedTokens: 0,
  completionTokens: 5,
  state: 'finished',
  receivedAt: 0,
};
const row: LedgerRow = {
  callId: CALL_ID,
  keyId: 'key',
  workspaceId: 'ws',
  modality: 'text',
  model: 'engine-1/model',
  canonicalModel: 'model',
  priceVersion: 1,
  status: 'success',
  reason: 'completed',
  promptTokens: 10,
  cachedTokens: 0,
  completionTokens: 5,
  units: null,
  charge: 15n,
  hold: 100n,
  month: '2026-11',
  startedAtMs: 0,
  endedAtMs: 1_000,
};
const totalsOf = (charge: bigint, requests = 1): LedgerTotals => ({
  byKey: new Map([['key', charge]]),
  byWorkspace: new Map([['ws', charge]]),
  byMonth: new Map([['ws 2026-11', charge]]),
  hourlyRequests: requests,
  hourlyCharge: charge,
  credited: new Map([['ws', 1_000n]]),
  sequence: new Map([['ws', 3n]]),
});
const balancesOf = (spent: bigint, held = 0n): WorkspaceBalances => ({
  wallet: { left: 1_000n - spent, sequence: 3, held, ended: 0n },
  keys: new Map([['key', { spent, held }]]),
  months: new Map([['2026-11', { spent, held }]]),
  pendingCalls: 0,
});
const whole: Evidence = {
  calls: [call],
  served: [served],
  rows: [row],
  media: { models: MEDIA_MODELS, calls: [], jobs: [], renders: [] },
  totals: totalsOf(15n),
  credits: [{ workspaceId: 'ws', amount: 1_000n, atMs: 0 }],
  balances: new Map([['ws', balancesOf(15n)]]),
  prices,
};
const uncharged = { promptTokens: 0, completionTokens: 0, charge: 0n };
const free = { totals: totalsOf(0n), balances: new Map([['ws', balancesOf(0n)]]) };

it('finds nothing wrong with books that are whole', () => {
  const findings = checkBooks(whole, STRICT);
  expect(findings).toEqual({ lost: 0, doubled: 0, difference: 0n, problems: [] });
  expect(areWhole(findings)).toBe(true);
});

it.each<[string, Partial<Evidence>, Partial<ReturnType<typeof checkBooks>>]>([
  ['a call without a row', { ...free, rows: [], totals: totalsOf(0n, 0) }, { lost: 1 }],
  ['an unseen call that an engine served', { ...free, calls: [], rows: [], totals: totalsOf(0n, 0) }, { lost: 1 }],
  ['a charged row that nobody made', { calls: [], served: [] }, { doubled: 1 }],
  ['a row counted twice', { totals: totalsOf(30n, 2) }, { doubled: 1, difference: 60n }],
  ['a row missing in the sums', { totals: totalsOf(0n, 0) }, { lost: 1, difference: 60n }],
  ['a charge above the tokens’', { rows: [{ ...row, charge: 16n }] }, { difference: 8n }],
  ['a spend that Redis lost', { balances: new Map([['ws', balancesOf(14n)]]) }, { difference: 3n }],
])('finds %s', (_case, change, expected) => {
  const findings = checkBooks({ ...whole, ...change }, STRICT);
  expect(findings).toMatchObject(expected);
  expect(areWhole(findings)).toBe(false);
});

it.each<[string, Partial<Evidence>, RegExp]>([
  ['a hold that stays', { balances: new Map([['ws', balancesOf(15n, 7n)]]) }, /holds money/],
  ['a pending call', { balances: new Map([['ws', { ...balancesOf(15n), pendingCalls: 1 }]]) }, /still pending/],
  ['sums that are old', { totals: { ...totalsOf(15n), sequence: new Map([['ws', 4n]]) } }, /older sums/],
  ['credit out of nothing', { totals: { ...totalsOf(15n), credited: new Map() } }, /the wallet in Redis is not/],
  [
    'tokens that the client was not told',
    { calls: [{ ...call, usage: { promptTokens: 10, completionTokens: 4 } }] },
    /other tokens/,
  ],
  ['tokens that the engine did not count', { served: [{ ...served, completionTokens: 4 }] }, /engine did not count/],
  ['a charge for what failed', { calls: [{ ...call, outcome: 'error_event' }] }, /failed for its client is charged/],
  ['a charge for what no engine served', { served: [] }, /no engine served/],
  [
    'a charge below what was delivered',
    { calls: [{ ...call, outcome: 'left', usage: undefined, deltas: 6 }], served: [{ ...served, state: 'aborted' }] },
    /less than was delivered/,
  ],
  [
    'a failure with tokens',
    { ...free, calls: [], rows: [{ ...row, status: 'failure', charge: 0n }] },
    /status failure has tokens/,
  ],
  [
    'an end that was seen and is unknown',
    { ...free, rows: [{ ...row, ...uncharged, status: 'unknown' }] },
    /row says unknown/,
  ],
  [
    'an ending that nobody knows',
    { ...free, calls: [], rows: [{ ...row, ...uncharged, status: 'unknown' }] },
    /1 calls ended as unknown/,
  ],
])('names %s', (_case, change, problem) => {
  expect(checkBooks({ ...whole, ...change }, STRICT).problems).toContainEqual(expect.stringMatching(problem));
});

it('names what was delivered and cost nothing, where no engine was broken and it is more than one call’s', () => {
  const callIds = [CALL_ID, CALL_ID.replace('01a1', '01a2')];
  const failures = {
    ...whole,
    ...free,
    totals: totalsOf(0n, 2),
    calls: callIds.map((callId) => ({ ...call, callId, outcome: 'error_event' as const, usage: undefined })),
    served: callIds.map((requestId) => ({ ...served, requestId, state: 'aborted' as const })),
    rows: callIds.map((callId) => ({
      ...row,
      ...uncharged,
      callId,
      status: 'failure' as const,
      reason: 'stream_too_long',
    })),
  };
  const problems = expect.stringMatching(/10 tokens .* cost nothing: 2 calls stream_too_long/);
  expect(checkBooks(failures, STRICT).problems).toEqual([problems]);
  expect(checkBooks(failures, { ...STRICT, enginesBreak: true }).problems).toEqual([]);
  const one = {
    calls: failures.calls.slice(0, 1),
    served: failures.served.slice(0, 1),
    rows: failures.rows.slice(0, 1),
  };
  expect(checkBooks({ ...failures, ...one, totals: totalsOf(0n) }, STRICT).problems).toEqual([]);
});

it('takes the charge of a stream that the router has ended for right, and of no other that failed', () => {
  const cut: Evidence = {
    ...whole,
    calls: [{ ...call, outcome: 'error_event', usage: undefined }],
    served: [{ ...served, state: 'aborted' }],
    rows: [{ ...row, reason: 'cut_too_long' }],
  };
  expect(checkBooks(cut, STRICT).problems).toEqual([]);
  expect(checkBooks({ ...cut, rows: [row] }, STRICT).problems).toContainEqual(expect.stringMatching(/is charged/));
});

it('lets a row be gone that a cell says went with its Postgres, and no other', () => {
  const gone = { ...whole, rows: [], totals: totalsOf(0n, 0), balances: free.balances };
  expect(areWhole(checkBooks(gone, { ...STRICT, goneWithPostgres: new Set([CALL_ID]) }))).toBe(true);
  expect(checkBooks(gone, { ...STRICT, goneWithPostgres: new Set(['another']) }).lost).toBe(1);
});

describe('more under way than was credited', () => {
  const another = { ...row, callId: 'another', hold: 950n, startedAtMs: 500, endedAtMs: 600 };
  const problemsOf = (change: Partial<LedgerRow>, credits = whole.credits) =>
    checkBooks({ ...whole, rows: [row, { ...another, ...change }], credits }, STRICT).problems;
  const overspent = expect.stringMatching(/more was under way and charged than was credited: ws: 50 beyond it/);

  it('is found at any instant, whatever was charged in the end', () => {
    expect(problemsOf({})).toContainEqual(overspent);
  });
  it('is not where one call began after the other had ended', () => {
    expect(problemsOf({ startedAtMs: 1_000, endedAtMs: 1_100 })).not.toContainEqual(overspent);
  });
  it('is found where the credit came too late', () => {
    const credits = [1, 2_000].map((atMs) => ({ workspaceId: 'ws', amount: 500n, atMs: atMs === 1 ? 0 : atMs }));
    expect(problemsOf({ hold: 450n }, credits)).toContainEqual(overspent);
  });
});

it('lets as many calls end as unknown as a cell says', () => {
  const rows = [{ ...row, ...uncharged, status: 'unknown' as const, reason: 'router_gone' }];
  const calls = [{ ...call, outcome: 'broken' as const, usage: undefined }];
  expect(areWhole(checkBooks({ ...whole, ...free, calls, rows }, { ...STRICT, unknownAtMost: 1 }))).toBe(true);
});

it('takes a second attempt on another engine for the same call', () => {
  const attempts = [
    { ...served, state: 'failed' as const, completionTokens: 1 },
    { ...served, requestId: `${CALL_ID}-2` },
  ];
  expect(areWhole(checkBooks({ ...whole, served: attempts }, STRICT))).toBe(true);
});

describe('of a prompt that came out of the cache in part', () => {
  /** Three nano-dollars a token of the prompt, one where it was cached, and one a token of the answer. */
  const cachePrices = {
    costOf: (tokens: { promptTokens: number; cachedTokens: number; completionTokens: number }) =>
      BigInt(3 * tokens.promptTokens - 2 * tokens.cachedTokens + tokens.completionTokens),
  };
  const cut = { ...call, outcome: 'left' as const, usage: undefined, deltas: 2 };
  const findingsOf = (
    { client, engine, cachedTokens }: { client: CallRecord; engine: Partial<ServedRequest>; cachedTokens: number },
    charge: bigint,
  ) => {
    const isCut = client.outcome === 'left';
    const completionTokens = isCut ? 3 : row.completionTokens;
    const reason = isCut ? 'client_left' : row.reason;
    const evidence = {
      calls: [client],
      served: [{ ...served, cachedTokens: 4, ...engine }],
      rows: [{ ...row, reason, completionTokens, cachedTokens, charge }],
      totals: totalsOf(charge),
      balances: new Map([['ws', balancesOf(charge)]]),
    };
    return checkBooks({ ...whole, ...evidence, prices: cachePrices }, STRICT);
  };

  it.each<[string, Partial<ServedRequest>, number, bigint]>([
    ['before its engine had ended: nothing had been said of the cache', { state: 'aborted' }, 0, 33n],
    ['as its engine ended: nothing had arrived of the cache', { state: 'finished' }, 0, 33n],
    ['when the count of its engine had arrived', { state: 'finished' }, 4, 25n],
  ])('takes as right what a client pays that leaves %s', (_when, engine, cachedTokens, charge) => {
    expect(areWhole(findingsOf({ client: cut, engine, cachedTokens }, charge))).toBe(true);
  });

  it('finds a cut call with cached tokens that its engine did not have', () => {
    const { problems } = findingsOf({ client: cut, engine: { state: 'aborted' }, cachedTokens: 2 }, 29n);
    expect(problems).toContainEqual(expect.stringMatching(/other cached tokens/));
  });

  it('finds a whole call that pays for its prompt as if nothing had been cached', () => {
    expect(findingsOf({ client: call, engine: {}, cachedTokens: 0 }, 35n)).toMatchObject({ difference: 8n });
  });
});
