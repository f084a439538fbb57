import { z } from 'zod';

/** Money: an integer count of nano-dollars (1e-9 USD). Floats never carry money. */
export type NanoUsd = bigint;

/** The most that a limit or a single credit may be: Redis' scripts count in doubles, which are exact up to here. */
export const LARGEST_LIMIT_NANO_USD: NanoUsd = 2n ** 53n - 1n;

const NANO_PER_USD = 1_000_000_000n;
const NANO_DIGITS = 9;

/** A nano-dollar amount as a decimal string in JSON, where a number would lose digits above 2^53. */
export const nanoUsdSchema = z
  .string()
  .regex(/^-?\d{1,18}$/, 'must be an integer number of nano-dollars as a decimal string')
  .transform(BigInt);

/** A `nanoUsdSchema` that refuses negative amounts: charges, holds and limits. */
export const nonNegativeNanoUsdSchema = nanoUsdSchema.refine((amount) => amount >= 0n, 'must not be negative');

/** The JSON number a client reads: built from the integer's decimal text, so no binary rounding happens on the way. */
export function toUsdNumber(amount: NanoUsd): number {
  return Number(toUsdText(amount));
}

/** Plain decimal dollars without trailing zeros, for tables and logs: `1500000000n` is `1.5`. */
export const toUsdText = (amount: NanoUsd): string => toDecimalText(amount, NANO_DIGITS);

/** Writes an integer count of 10^-`digits` in plain decimals without trailing zeros. */
export function toDecimalText(count: bigint, digits: number): string {
  const unit = 10n ** BigInt(digits);
  const sign = count < 0n ? '-' : '';
  const size = count < 0n ? -count : count;
  const fraction = (size % unit).toString().padStart(digits, '0').replace(/0+$/, '');
  return `${sign}${size / unit}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Dollars as people write them (`25`, `0.5`) to nano-dollars. Throws a RangeError on anything finer or not plain. */
export function parseUsd(text: string): NanoUsd {
  const match = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(text);
  if (!match)
    throw new RangeError(`"${text}" is not a dollar amount: write plain digits with at most 9 decimals, as in 12.5`);
  return BigInt(match[1] ?? '0') * NANO_PER_USD + BigInt((match[2] ?? '').padEnd(9, '0'));
}
