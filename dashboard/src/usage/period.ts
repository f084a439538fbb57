import * as z from 'zod/mini';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Longest periods, in days. */
const LONGEST_DAYS = { day: 366, hour: 31 } as const;

const choice = <const Names extends readonly string[]>(names: Names) => z.catch(z.optional(z.enum(names)), undefined);
const day = z.catch(z.optional(z.iso.date()), undefined);

/** The choices of the usage page, which its address keeps. */
export const usageSearchSchema = z.object({
  range: choice(['24h', '7d', '30d', 'month', 'custom']),
  /** First and last day of a custom range. */
  from: day,
  to: day,
  by: choice(['day', 'hour']),
  split: choice(['model', 'key', 'key,model']),
  show: choice(['cost', 'tokens', 'requests', 'errors']),
});
export type UsageSearch = z.output<typeof usageSearchSchema>;
export type By = 'day' | 'hour';

/** Whole UTC hours or days, from `start` until before `end`. */
export interface Period {
  start: number;
  end: number;
  by: By;
}

/** Returns the period that the choices name, or the problem of a custom one. */
export function toPeriod({ range = '7d', from, to, by = 'day' }: UsageSearch, now: number): Period | string {
  const nextHour = now - (now % HOUR_MS) + HOUR_MS;
  const nextDay = now - (now % DAY_MS) + DAY_MS;
  switch (range) {
    case '24h':
      return { start: nextHour - DAY_MS, end: nextHour, by: 'hour' };
    case '7d':
      return { start: nextDay - 7 * DAY_MS, end: nextDay, by };
    case '30d':
      return { start: nextDay - 30 * DAY_MS, end: nextDay, by };
    case 'month': {
      const today = new Date(now);
      return { start: Date.UTC(today.getUTCFullYear(), today.getUTCMonth()), end: nextDay, by };
    }
    case 'custom': {
      if (!from || !to) return 'Choose the first and the last day.';
      const period = { start: Date.parse(from), end: Date.parse(to) + DAY_MS, by };
      const days = (period.end - period.start) / DAY_MS;
      if (days < 1) return 'The last day must not be before the first.';
      if (days > LONGEST_DAYS[by])
        return `A range has at most ${LONGEST_DAYS[by]} days by ${by}. This one has ${days}. Choose fewer days.`;
      return period;
    }
  }
}

/** Returns the equally long period before. */
export const toPeriodBefore = ({ start, end, by }: Period): Period => ({
  start: start - (end - start),
  end: start,
  by,
});

/** Lists the begin of each hour or day. */
export function listStarts({ start, end, by }: Period): number[] {
  const step = by === 'day' ? DAY_MS : HOUR_MS;
  return Array.from({ length: (end - start) / step }, (_, index) => start + index * step);
}

/** Writes the begin of a UTC hour as `YYYY-MM-DDTHH:00Z`. */
export const toHour = (instant: number): string => `${new Date(instant).toISOString().slice(0, 13)}:00Z`;

export const toDay = (instant: number): string => new Date(instant).toISOString().slice(0, 10);
