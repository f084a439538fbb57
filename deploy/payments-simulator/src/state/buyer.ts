import type { Stripe } from 'stripe';

/** The party of a sale, as far as its tax depends on it. */
export interface Buyer {
  address: Stripe.Address | null;
  taxExempt: string;
  taxIds: { type: string; value: string | null }[];
}
