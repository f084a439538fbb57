import type { Region } from '@turnpike/config/region';

export type Currency = 'usd' | 'eur';

/** Each region is paid in its own currency. */
export const CURRENCY_OF: Record<Region, Currency> = { us: 'usd', eu: 'eur' };

/** Amounts without tax, in cents. Each currency has its own: none is computed from the other. */
export const AMOUNTS: Record<Currency, { presets: number[]; minimum: number; maximum: number }> = {
  usd: { presets: [1_000, 2_500, 5_000, 10_000], minimum: 500, maximum: 500_000 },
  eur: { presets: [1_000, 2_500, 5_000, 10_000], minimum: 500, maximum: 500_000 },
};

const NANO_PER_CENT = 10_000_000n;

/**
 * Returns the nano-dollars of an amount without tax. It is exact: a euro cent is 1e7 nano-euros, and a rate has four decimals. Throws if
 * euros come without a rate.
 */
export function toNanoUsd(currency: Currency, cents: bigint, rateE4: number | null): bigint {
  if (currency === 'usd') return cents * NANO_PER_CENT;
  if (rateE4 === null) throw new Error('euros have no rate');
  return (cents * NANO_PER_CENT * BigInt(rateE4)) / 10_000n;
}

/** `500` is `5`, and `1250` is `12.50`. */
export const toUnits = (cents: number): string => (cents % 100 === 0 ? String(cents / 100) : (cents / 100).toFixed(2));

/** `2500n` of `eur` is `EUR 25.00`. */
export const toMoneyText = (currency: Currency, cents: bigint): string =>
  `${currency.toUpperCase()} ${toCentsText(cents)}`;

/** `2500n` is `25.00`. */
export const toCentsText = (cents: bigint): string => `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
