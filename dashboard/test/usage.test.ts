import { describe, expect, it } from '@jest/globals';
import { listTicks } from '../src/charts/ticks.ts';
import { toCsv } from '../src/csv.ts';
import { listStarts, toHour, toPeriod, toPeriodBefore } from '../src/usage/period.ts';
import { sumTotal, sumUsage, type UsageRow } from '../src/usage/sumUsage.ts';
import { toExactUsd } from '../src/usd.ts';

const NOW = Date.UTC(2026, 9, 15, 13, 37);

const aRow = (fields: Partial<UsageRow> = {}): UsageRow => ({
  start: '2026-10-15T00:00:00.000Z',
  key_id: null,
  model: 'small-chat',
  modality: 'text',
  others: null,
  requests: 3,
  success: 1,
  failure: 1,
  unknown: 1,
  prompt_tokens: 10,
  cached_prompt_tokens: 4,
  completion_tokens: 5,
  charge_nano_usd: '9007199254740993',
  ...fields,
});

describe('toPeriod', () => {
  const days = (search: Parameters<typeof toPeriod>[0]) => {
    const period = toPeriod(search, NOW);
    return typeof period === 'string'
      ? period
      : [period.start, period.end].map((instant) => new Date(instant).toISOString().slice(0, 16));
  };
  it.each([
    [{}, ['2026-10-09T00:00', '2026-10-16T00:00']],
    [{ range: '24h' }, ['2026-10-14T14:00', '2026-10-15T14:00']],
    [{ range: '30d' }, ['2026-09-16T00:00', '2026-10-16T00:00']],
    [{ range: 'month' }, ['2026-10-01T00:00', '2026-10-16T00:00']],
    [{ range: 'custom', from: '2025-10-15', to: '2026-10-15' }, ['2025-10-15T00:00', '2026-10-16T00:00']],
    [{ range: 'custom', from: '2025-10-14', to: '2026-10-15' }, expect.stringContaining('at most 366 days')],
    [{ range: 'custom', from: '2026-09-14', to: '2026-10-15', by: 'hour' }, expect.stringContaining('at most 31 days')],
    [{ range: 'custom', from: '2026-10-15', to: '2026-10-14' }, expect.stringContaining('must not be before')],
    [{ range: 'custom', from: '2026-10-15' }, expect.stringContaining('Choose')],
  ] as const)('of %j is %j', (search, expected) => expect(days(search)).toEqual(expected));

  it('has hours where they are asked for, and an equally long period before it', () => {
    const period = toPeriod({ range: '24h', by: 'day' }, NOW);
    if (typeof period === 'string') throw new Error(period);
    expect(listStarts(period)).toHaveLength(24);
    expect(toPeriodBefore(period)).toEqual({ start: period.start - 86_400_000, end: period.start, by: 'hour' });
    expect([toHour(period.start), toHour(period.end)]).toEqual(['2026-10-14T14:00Z', '2026-10-15T14:00Z']);
  });
});

describe('sumUsage', () => {
  const period = { start: Date.UTC(2026, 9, 14), end: Date.UTC(2026, 9, 16), by: 'day' } as const;

  it('sums exactly, and passes over what begins outside', () => {
    const rows = [aRow(), aRow(), aRow({ start: '2026-10-13T00:00:00.000Z' })];
    const { series, total, starts } = sumUsage(rows, period, 'cost');
    expect(starts).toHaveLength(2);
    const sums = { cost: 18014398509481986n, prompt: 20n, cached: 8n, completion: 10n, requests: 6n, errors: 4n };
    expect(total).toEqual(sums);
    expect(sumTotal(rows, period)).toEqual(sums);
    expect(series).toMatchObject([{ model: 'small-chat', others: null, total: sums }]);
    expect(series[0]?.sums.map(({ requests }) => requests)).toEqual([0n, 6n]);
  });

  it('lists the largest series first, and the others last', () => {
    const others = { model: null, modality: null, others: 42, charge_nano_usd: '99999999999999999' };
    const rows = [aRow(others), aRow({ model: 'b', requests: 2 }), aRow({ model: 'a' }), aRow(others)];
    const { series } = sumUsage(rows, period, 'requests');
    expect(series.map(({ model, others, total }) => [model, others, total.requests])).toEqual([
      ['a', null, 3n],
      ['b', null, 2n],
      [null, 42, 6n],
    ]);
    for (const { total, sums } of series) expect(sums[1]).toEqual(total);
  });
});

it.each([
  [0n, '0.00'],
  [1n, '0.000000001'],
  [12_500_000_000n, '12.50'],
  [9_007_199_254_740_993n, '9007199.254740993'],
  [-1_230_000_000n, '-1.23'],
])('writes %s nano-dollars as %s', (nano, text) => expect(toExactUsd(nano)).toBe(text));

it.each([
  [0n, [0n, 1n]],
  [3n, [0n, 1n, 2n, 3n]],
  [95n, [0n, 50n, 100n]],
  [1_500_000_000n, [0n, 500_000_000n, 1_000_000_000n, 1_500_000_000n]],
])('ends the axis of %s at a round value', (most, ticks) => expect(listTicks(most)).toEqual(ticks));

describe('toCsv', () => {
  it('quotes by RFC 4180', () => {
    expect(toCsv([['a,b', 'say "x"', 'two\r\nlines', 1n, 2, { decimal: '-0.5' }]])).toBe(
      '"a,b","say ""x""","two\r\nlines",1,2,-0.5\r\n',
    );
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '＝1'])('takes the formula out of %j', (text) => {
    expect(toCsv([[text]]).replace(/^"/, '')).toMatch(/^'/);
  });
});
