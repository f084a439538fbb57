import type { UsageMeasure, usageConsoleApi } from '@turnpike/console-api/console/usage';
import type * as z from 'zod/mini';
import { listStarts, type Period } from './period.ts';

export type UsageRow = z.output<typeof usageConsoleApi.routes.listUsage.answer>['usage'][number];

/** Groups that a chart shows apart. The others are one series more. */
export const MOST_SERIES = 8;

/** Sums of calls. Amounts and counts are exact. */
export interface Sums {
  /** Nano-dollars. */
  cost: bigint;
  prompt: bigint;
  /** Part of `prompt`. */
  cached: bigint;
  completion: bigint;
  requests: bigint;
  /** Calls that failed, and calls of which the region does not know how they ended. */
  errors: bigint;
}

/** A number of a sum that the chart can draw. */
export type Measure = UsageMeasure;

export const measure = (sums: Sums, by: Measure): bigint =>
  by === 'tokens' ? sums.prompt + sums.completion : sums[by];

/** A model, a key, or a model of a key. Both are null for the others, whose number is `others`. */
export interface Series {
  model: string | null;
  keyId: string | null;
  others: number | null;
  total: Sums;
  /** The sums of each hour or day. */
  sums: Sums[];
}

/** Usage as it is drawn and listed: the largest series first, and the others last. */
export interface UsageTable {
  starts: number[];
  series: Series[];
  total: Sums;
}

/** Puts the rows that begin in the period under their times and series. */
export function sumUsage(rows: UsageRow[], period: Period, shown: Measure): UsageTable {
  const starts = listStarts(period);
  const indexOf = new Map(starts.map((start, index) => [start, index]));
  const found = new Map<string, Omit<Series, 'total'>>();
  for (const row of rows) {
    const index = indexOf.get(Date.parse(row.start));
    if (index === undefined) continue;
    const { model, key_id: keyId, others } = row;
    const id = `${model ?? ''}\n${keyId ?? ''}`;
    const series = found.get(id) ?? { model, keyId, others, sums: starts.map(() => NONE) };
    found.set(id, series);
    series.sums[index] = add(series.sums[index] ?? NONE, toSums(row));
  }
  const series = [...found]
    .map(([id, one]) => ({ id, one: { ...one, total: one.sums.reduce(add, NONE) } }))
    .sort(
      ({ id, one: a }, { id: other, one: b }) =>
        Number(a.others !== null) - Number(b.others !== null) ||
        compare(measure(b.total, shown), measure(a.total, shown)) ||
        compare(id, other),
    )
    .map(({ one }) => one);
  return { starts, series, total: series.reduce((sum, { total }) => add(sum, total), NONE) };
}

/** Sums up all rows that begin in the period. */
export const sumTotal = (rows: UsageRow[], { start, end }: Period): Sums =>
  rows
    .filter((row) => {
      const at = Date.parse(row.start);
      return at >= start && at < end;
    })
    .map(toSums)
    .reduce(add, NONE);

const NONE: Sums = { cost: 0n, prompt: 0n, cached: 0n, completion: 0n, requests: 0n, errors: 0n };

const toSums = (row: UsageRow): Sums => ({
  cost: BigInt(row.charge_nano_usd),
  prompt: BigInt(row.prompt_tokens),
  cached: BigInt(row.cached_prompt_tokens),
  completion: BigInt(row.completion_tokens),
  requests: BigInt(row.requests),
  errors: BigInt(row.failure) + BigInt(row.unknown),
});

/** Most hours, days and series have one row, which needs no sum of its own. */
function add(sum: Sums, further: Sums): Sums {
  if (sum === NONE) return further;
  if (further === NONE) return sum;
  return {
    cost: sum.cost + further.cost,
    prompt: sum.prompt + further.prompt,
    cached: sum.cached + further.cached,
    completion: sum.completion + further.completion,
    requests: sum.requests + further.requests,
    errors: sum.errors + further.errors,
  };
}

function compare<Value extends bigint | string>(a: Value, b: Value): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
