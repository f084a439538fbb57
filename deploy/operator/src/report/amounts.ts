import { type NanoUsd, toUsdText } from '@turnpike/money/nanoUsd';

type AmountFields<Name extends string> = Record<`${Name}_usd` | `${Name}_nano_usd`, string | null>;

/** An amount for programs: decimal strings of dollars and of nano-dollars; null where there is none. */
export function toAmountFields<Name extends string>(name: Name, amount: NanoUsd | null): AmountFields<Name> {
  const fields = {
    [`${name}_usd`]: amount === null ? null : toUsdText(amount),
    [`${name}_nano_usd`]: amount === null ? null : String(amount),
  };
  return fields as AmountFields<Name>;
}

/** An amount for people: plain dollars; a dash where there is none. */
export const toUsdCell = (amount: NanoUsd | null): string => (amount === null ? '-' : toUsdText(amount));

/** Cents of a currency for people: `25.00 eur`; a dash where there are none. */
export const toMoneyCell = (cents: number | null, currency: string): string =>
  cents === null ? '-' : `${(cents / 100).toFixed(2)} ${currency}`;

/** An instant for people, to the minute in UTC; a dash where there is none. */
export const toInstantCell = (instant: string | null): string =>
  instant === null ? '-' : `${instant.slice(0, 16).replace('T', ' ')}Z`;
