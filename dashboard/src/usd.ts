import * as z from 'zod/mini';
import { once } from './once.ts';

const NANO_PER_USD = 1_000_000_000n;
const NANO_DIGITS = 9;
const CENT_DIGITS = 2;

/** Dollars with all their digits and no zeros behind the last one. */
function toUsdText(nano: bigint): string {
  const fraction = (nano % NANO_PER_USD).toString().padStart(9, '0').replace(/0+$/, '');
  return `${nano / NANO_PER_USD}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Writes a limit of nano-dollars into a field of a form. No limit is the empty text. */
export const toUsdField = (nano: string | null): string => (nano === null ? '' : toUsdText(BigInt(nano)));

/** A field for an amount in dollars, as nano-dollars. The empty text becomes null. */
export const usdField = z.pipe(
  z.string().check(z.trim(), z.regex(/^(\d{1,7}(\.\d{1,9})?)?$/, 'must be an amount in dollars, as 25 or 0.5')),
  z.transform((text: string): string | null => {
    if (text === '') return null;
    const [dollars = '', fraction = ''] = text.split('.');
    return String(BigInt(dollars) * NANO_PER_USD + BigInt(fraction.padEnd(9, '0')));
  }),
);

const FORMAT = { style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' } as const;
const getCents = once(() => new Intl.NumberFormat(undefined, FORMAT));
const getSmall = once(() => new Intl.NumberFormat(undefined, { ...FORMAT, maximumFractionDigits: 6 }));

/** Formats an amount for people: to the cent, or below a dollar to its millionth. */
export function formatUsd(nano: bigint): string {
  const size = nano < 0n ? -nano : nano;
  const text = toUsdText(size) as Intl.StringNumericLiteral;
  const shown = (size < NANO_PER_USD ? getSmall() : getCents()).format(text);
  return nano < 0n ? `−${shown}` : shown;
}

/**
 * Writes an amount in decimal dollars with all its digits, and at least with cents: `12.50`. The amount is in nano-dollars, or counts
 * 10^-`digits` dollars.
 */
export function toExactUsd(amount: bigint, digits = NANO_DIGITS): string {
  const unit = 10n ** BigInt(digits);
  const size = amount < 0n ? -amount : amount;
  const fraction = (size % unit).toString().padStart(digits, '0').replace(/0+$/, '');
  return `${amount < 0n ? '-' : ''}${size / unit}.${fraction.padEnd(CENT_DIGITS, '0')}`;
}

/** Writes a decimal text of nano-dollars as an amount in dollars with all its digits: `-$0.0000000004`. */
export function nanoTextToUsd(text: string): string {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const digits = whole.padStart(NANO_DIGITS + 1, '0');
  const decimals = `${digits.slice(-NANO_DIGITS)}${fraction}`.replace(/0+$/, '').padEnd(CENT_DIGITS, '0');
  return `${sign}$${digits.slice(0, -NANO_DIGITS)}.${decimals}`;
}
