import type { usageConsoleApi } from '@turnpike/console-api/consoleApi';
import type * as z from 'zod/mini';
import { listStarts, type Period } from './period.ts';

export type UsageRow = z.output<typeof usageConsoleApi.routes.listUsage.answer>['usage'][number];

/** Series that a chart has room for. The rest is drawn as one more. */
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
export type Measure = 'cost' | 'tokens' | 'requests' | 'errors';

export const measure = (sums: Sums, by: Measure): bigint =>
  by === 'tokens' ? sums.prompt + sums.completion : sums[by];

/** A model, a key, or a model of a key. Both are null for the rest, of which `count` were summed up. */
export interface Series {
  model: string | null;
  keyId: string | null;
  count: number;
  total: Sums;
  /** The sums of each hour or day. */
  sums: Sums[];
}

/** Usage as it is drawn and listed: the largest series first, and the rest as the last one. */
export interface UsageTable {
  starts: number[];
  series: Series[];
  total: Sums;
}

/** Sums up the rows that begin in the period. */
export function sumUsage(rows: UsageRow[], period: Period, shown: Measure): UsageTable {
  const starts = listStarts(period);
  const indexOf = new Map(starts.map((start, index) => [start, index]));
  const total = noSums();
  const found = new Map<string, Omit<Series, 'sums'>>();
  const inPeriod: { id: string; index: number; sums: Sums }[] = [];
  for (const row of rows) {
    const index = indexOf.get(Date.parse(row.start));
    if (index === undefined) continue;
    const id = `${row.model ?? ''}\n${row.key_id ?? ''}`;
    const sums = toSums(row);
    inPeriod.push({ id, index, sums });
    const group = found.get(id) ?? { model: row.model, keyId: row.key_id, count: 1, total: noSums() };
    found.set(id, group);
    add(group.total, sums);
    add(total, sums);
  }
  const sorted = [...found].sort(
    ([id, a], [other, b]) => compare(measure(b.total, shown), measure(a.total, shown)) || compare(id, other),
  );
  const most = sorted.length > MOST_SERIES + 1 ? MOST_SERIES : sorted.length;
  const series = sorted.slice(0, most).map(([, group]): Series => ({ ...group, sums: starts.map(noSums) }));
  const seriesOf = new Map(sorted.slice(0, most).map(([id], index) => [id, series[index]]));
  const rest: Series = {
    model: null,
    keyId: null,
    count: sorted.length - most,
    total: noSums(),
    sums: starts.map(noSums),
  };
  for (const [, group] of sorted.slice(most)) add(rest.total, group.total);
  for (const { id, index, sums } of inPeriod) {
    const sum = (seriesOf.get(id) ?? rest).sums[index];
    if (sum) add(sum, sums);
  }
  return { starts, series: rest.count === 0 ? series : [...series, rest], total };
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
