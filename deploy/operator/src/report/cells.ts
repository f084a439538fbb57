import { type NanoUsd, toUsdText } from '@turnpike/money/nanoUsd';

/** An amount for people: plain dollars; a dash where there is none. */
export const toUsdCell = (amount: NanoUsd | null): string => (amount === null ? '-' : toUsdText(amount));

/** Cents of a currency for people: `25.00 eur`; a dash where there are none. */
export const toMoneyCell = (cents: number | null, currency: string): string =>
  cents === null ? '-' : `${(cents / 100).toFixed(2)} ${currency}`;

/** An instant for people, to the minute in UTC; a dash where there is none. */
export const toInstantCell = (instant: string | null): string =>
  instant === null ? '-' : `${instant.slice(0, 16).replace('T', ' ')}Z`;

export const DAY_MS = 86_400_000;

/** The UTC day of an instant, as `2026-01-31`. */
export const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
