import type { Stripe } from 'stripe';
import type { Card } from '../state/cards.ts';
import type { Processor } from '../state/processor.ts';

interface BillingDetails {
  address?: Stripe.Address | null;
  email?: string | null;
  name?: string | null;
}

/** Makes a payment method of a test card. It belongs to no customer yet. */
export const addPaymentMethod = (
  processor: Processor,
  { number, brand }: Card,
  { address = null, email = null, name = null }: BillingDetails = {},
): Stripe.PaymentMethod =>
  processor.paymentMethods.add({
    id: processor.newId('pm'),
    object: 'payment_method',
    allow_redisplay: 'limited',
    billing_details: { address, email, name, phone: null, tax_id: null },
    card: {
      brand,
      checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' },
      country: 'IE',
      display_brand: brand,
      exp_month: 12,
      exp_year: 2034,
      fingerprint: number,
      funding: 'credit',
      generated_from: null,
      last4: number.slice(-4),
      networks: { available: [brand], preferred: null },
      regulated_status: 'unregulated',
      three_d_secure_usage: { supported: true },
      wallet: null,
    },
    created: processor.now(),
    customer: null,
    customer_account: null,
    livemode: false,
    metadata: {},
    type: 'card',
  });

/** Gives a payment method to a customer, unless the customer has it. */
export function attachPaymentMethod(processor: Processor, id: string, customer: string): Stripe.PaymentMethod {
  const before = processor.paymentMethods.get(id);
  if (before.customer === customer) return before;
  const attached = processor.paymentMethods.update(id, { customer });
  processor.emit('payment_method.attached', attached);
  return attached;
}
