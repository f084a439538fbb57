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
  const total = noSums();
  const found = new Map<string, Series>();
  for (const row of rows) {
    const index = indexOf.get(Date.parse(row.start));
    if (index === undefined) continue;
    const { model, key_id: keyId, others } = row;
    const id = `${model ?? ''}\n${keyId ?? ''}`;
    const series = found.get(id) ?? { model, keyId, others, total: noSums(), sums: starts.map(noSums) };
    found.set(id, series);
    const sums = toSums(row);
    for (const sum of [series.total, total, series.sums[index]]) if (sum) add(sum, sums);
  }
  const series = [...found]
    .sort(
      ([id, a], [other, b]) =>
        Number(a.others !== null) - Number(b.others !== null) ||
        compare(measure(b.total, shown), measure(a.total, shown)) ||
        compare(id, other),
    )
    .map(([, one]) => one);
  return { starts, series, total };
}

/** Sums up all rows that begin in the period. */
export function sumTotal(rows: UsageRow[], { start, end }: Period): Sums {
  const total = noSums();
  for (const row of rows) {
    const at = Date.parse(row.start);
    if (at >= start && at < end) add(total, toSums(row));
  }
  return total;
}

const noSums = (): Sums => ({ cost: 0n, prompt: 0n, cached: 0n, completion: 0n, requests: 0n, errors: 0n });

/** The sums of rows that were read, so that another choice does not parse them anew. */
const parsed = new WeakMap<UsageRow, Sums>();

function toSums(row: UsageRow): Sums {
  const known = parsed.get(row);
  if (known) return known;
  const sums = parseSums(row);
  parsed.set(row, sums);
  return sums;
}

const parseSums = (row: UsageRow): Sums => ({
  cost: BigInt(row.charge_nano_usd),
  prompt: BigInt(row.prompt_tokens),
  cached: BigInt(row.cached_prompt_tokens),
  completion: BigInt(row.completion_tokens),
  requests: BigInt(row.requests),
  errors: BigInt(row.failure) + BigInt(row.unknown),
});

function add(sum: Sums, further: Sums): void {
  sum.cost += further.cost;
  sum.prompt += further.prompt;
  sum.cached += further.cached;
  sum.completion += further.completion;
  sum.requests += further.requests;
  sum.errors += further.errors;
}

function compare<Value extends bigint | string>(a: Value, b: Value): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
