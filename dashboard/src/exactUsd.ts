const NANO_PER_USD = 1_000_000_000n;
const NANO_DIGITS = 9;
const CENT_DIGITS = 2;

/** Writes nano-dollars in decimal dollars with all their digits, and at least with cents: `12.50`. */
export function toExactUsd(nano: bigint): string {
  const size = nano < 0n ? -nano : nano;
  const digits = (size % NANO_PER_USD).toString().padStart(NANO_DIGITS, '0').replace(/0+$/, '');
  return `${nano < 0n ? '-' : ''}${size / NANO_PER_USD}.${digits.padEnd(CENT_DIGITS, '0')}`;
}

/** Writes a decimal text of nano-dollars as an amount in dollars with all its digits: `-$0.0000000004`. */
export function nanoTextToUsd(text: string): string {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const digits = whole.padStart(NANO_DIGITS + 1, '0');
  const decimals = `${digits.slice(-NANO_DIGITS)}${fraction}`.replace(/0+$/, '').padEnd(CENT_DIGITS, '0');
  return `${sign}$${digits.slice(0, -NANO_DIGITS)}.${decimals}`;
}
