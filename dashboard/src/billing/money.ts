import type { accountApi } from '@turnpike/console-api/accountApi';
import type * as z from 'zod/mini';

export type TopUp = z.output<typeof accountApi.routes.listTopUps.answer>['top_ups'][number];
export type Currency = TopUp['currency'];

const formats = new Map<Currency, Intl.NumberFormat>();

/** Formats an amount of cents for people. */
export function formatCents(currency: Currency, cents: number): string {
  const known =
    formats.get(currency) ??
    new Intl.NumberFormat(undefined, { style: 'currency', currency, currencyDisplay: 'narrowSymbol' });
  formats.set(currency, known);
  return known.format(cents / 100);
}

export const CURRENCY_NAMES: Record<Currency, string> = { usd: 'dollars', eur: 'euros' };

/** Reads an amount as `25`, `25.5` or `25,50` as cents. Returns undefined for any other text. */
export function parseCents(text: string): number | undefined {
  const [, whole, fraction = ''] = /^(\d{1,6})(?:[.,](\d{1,2}))?$/.exec(text.trim()) ?? [];
  return whole === undefined ? undefined : Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
}
