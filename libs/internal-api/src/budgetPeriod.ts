import { z } from 'zod';

/** After which the budget of a key begins anew, at midnight UTC: every day, every Monday, or on the first of every month. */
export const budgetPeriodSchema = z.enum(['day', 'week', 'month']);
export type BudgetPeriod = z.output<typeof budgetPeriodSchema>;

/** A UTC day, `YYYY-MM-DD`. */
export type Day = `${number}-${number}-${number}`;

const DAYS_SINCE_MONDAY = [6, 0, 1, 2, 3, 4, 5];

/** Returns midnight of the first day of the period that an instant is in, or of the one so many periods later. */
export function beginOf(period: BudgetPeriod, instantMs: number, later = 0): Date {
  const instant = new Date(instantMs);
  const [year, month, day] = [instant.getUTCFullYear(), instant.getUTCMonth(), instant.getUTCDate()];
  if (period === 'month') return new Date(Date.UTC(year, month + later));
  if (period === 'day') return new Date(Date.UTC(year, month, day + later));
  return new Date(Date.UTC(year, month, day - (DAYS_SINCE_MONDAY[instant.getUTCDay()] ?? 0) + 7 * later));
}

/** Returns the first day, `YYYY-MM-DD`, of the period that an instant is in. */
export const sinceOf = (period: BudgetPeriod, instantMs: number): Day =>
  beginOf(period, instantMs).toISOString().slice(0, 'YYYY-MM-DD'.length) as Day;
