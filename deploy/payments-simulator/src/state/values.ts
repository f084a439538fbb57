import { randomBytes } from 'node:crypto';
import type { Stripe } from 'stripe';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Returns `<prefix>_` and 24 random letters and digits. */
export const newId = (prefix: string): string =>
  `${prefix}_${Array.from(randomBytes(24), (byte) => ALPHABET[byte % ALPHABET.length]).join('')}`;

/** Returns the id of a reference. Stored objects have ids in place of other objects, and the client's types allow both. */
export function idOf(reference: string | { id: string }): string {
  return typeof reference === 'string' ? reference : reference.id;
}

/** Returns a decimal number as answers have it: a text, of which the client makes a `Decimal`. */
export const asDecimal = (value: number): Stripe.Decimal => String(value) as unknown as Stripe.Decimal;

/** The party of a sale, as far as its tax depends on it. */
export interface Buyer {
  address: Stripe.Address | null;
  taxExempt: string;
  taxIds: { type: string; value: string | null }[];
}
