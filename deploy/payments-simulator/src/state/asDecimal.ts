import type { Stripe } from 'stripe';

/** Returns a decimal number as answers have it: a text, of which the client makes a `Decimal`. */
export const asDecimal = (value: number): Stripe.Decimal => String(value) as unknown as Stripe.Decimal;
