import type { Stripe } from 'stripe';
import { invalid } from '../api/apiFault.ts';
import type { Card } from '../state/cards.ts';
import type { Processor } from '../state/processor.ts';
import { idOf } from '../state/values.ts';

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

/** Takes a payment method from its customer for good. */
export function detachPaymentMethod(processor: Processor, id: string): Stripe.PaymentMethod {
  const { customer } = processor.paymentMethods.get(id);
  if (customer === null)
    throw invalid('The payment method you provided is not attached to a customer so detachment is impossible.');
  const owner = processor.customers.find(idOf(customer));
  if (owner?.invoice_settings.default_payment_method === id)
    processor.customers.update(owner.id, {
      invoice_settings: { ...owner.invoice_settings, default_payment_method: null },
    });
  const detached = processor.paymentMethods.update(id, { customer: null });
  processor.emit('payment_method.detached', detached);
  return detached;
}
