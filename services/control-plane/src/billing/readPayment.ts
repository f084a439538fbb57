import type Stripe from 'stripe';
import type { Currency } from './currencies.ts';

/** A payment as the processor has it. Amounts are in cents. */
export interface Payment {
  intentId: string;
  chargeId: string;
  chargedAt: Date;
  taxCents: bigint;
  /** The country that taxes it. Null where there is no tax. */
  taxCountry: string | null;
}

/** The outcome of a Checkout page so far. */
export type Found =
  | { state: 'open' | 'processing' | 'declined' | 'expired' }
  | { state: 'paid'; payment: Payment; invoice: { invoiceId: string; number: string } | undefined };

/** The processor has a payment that is not the one of the top-up: nothing is credited. */
export class PaymentDiffers extends Error {}

/** The parts of a session that `readPayment` needs as objects. */
export const EXPANDED = ['payment_intent.latest_charge', 'invoice'];

/** Reads a Checkout session that was retrieved with `EXPANDED`. Throws `PaymentDiffers` if its amounts are not those of the top-up. */
export function readPayment(
  session: Stripe.Checkout.Session,
  { currency, netCents }: { currency: Currency; netCents: bigint },
): Found {
  if (session.status === 'expired') return { state: 'expired' };
  if (session.status !== 'complete') return { state: 'open' };
  const intent = toObject(session.payment_intent);
  if (session.payment_status !== 'paid') {
    const isOver = intent?.status === 'requires_payment_method' || intent?.status === 'canceled';
    return { state: isOver ? 'declined' : 'processing' };
  }

  const charge = toObject(intent?.latest_charge ?? null);
  if (!intent || !charge) throw new PaymentDiffers(`session ${session.id} is paid without a charge`);
  const taxCents = BigInt(session.total_details?.amount_tax ?? 0);
  const country = toTaxCountry(session.customer_details?.address);
  const isEqual =
    session.currency === currency &&
    charge.currency === currency &&
    charge.paid &&
    BigInt(session.amount_subtotal ?? -1) === netCents &&
    BigInt(session.amount_total ?? -1) === netCents + taxCents &&
    BigInt(charge.amount_captured) === netCents + taxCents;
  if (!isEqual) throw new PaymentDiffers(`the amounts of session ${session.id} are not those of its top-up`);
  if (taxCents > 0n && country === null) throw new PaymentDiffers(`session ${session.id} is taxed without a country`);

  const invoice = toObject(session.invoice);
  return {
    state: 'paid',
    payment: {
      intentId: intent.id,
      chargeId: charge.id,
      chargedAt: new Date(charge.created * 1_000),
      taxCents,
      taxCountry: taxCents > 0n ? country : null,
    },
    invoice:
      invoice?.status === 'paid' && invoice.number ? { invoiceId: invoice.id, number: invoice.number } : undefined,
  };
}

/** Reads the payment of a paid invoice. Throws `PaymentDiffers` if its amounts are not those of the top-up. */
export async function readInvoicePayment(
  stripe: Stripe,
  invoice: Stripe.Invoice,
  { currency, netCents }: { currency: Currency; netCents: bigint },
): Promise<Extract<Found, { state: 'paid' }>> {
  const { data } = await stripe.invoicePayments.list({ invoice: invoice.id, status: 'paid' });
  const reference = data[0]?.payment.payment_intent;
  const intentId = typeof reference === 'string' ? reference : reference?.id;
  if (data.length !== 1 || intentId === undefined)
    throw new PaymentDiffers(`invoice ${invoice.id} is paid by ${data.length} payments`);
  const intent = await stripe.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] });
  const charge = toObject(intent.latest_charge);
  if (!charge) throw new PaymentDiffers(`invoice ${invoice.id} is paid without a charge`);
  const taxCents = BigInt(invoice.total) - netCents;
  const country = toTaxCountry(invoice.customer_address);
  const isEqual =
    invoice.currency === currency &&
    charge.currency === currency &&
    charge.paid &&
    BigInt(invoice.subtotal) === netCents &&
    BigInt(charge.amount_captured) === netCents + taxCents;
  if (!isEqual) throw new PaymentDiffers(`the amounts of invoice ${invoice.id} are not those of its top-up`);
  if (taxCents > 0n && country === null) throw new PaymentDiffers(`invoice ${invoice.id} is taxed without a country`);
  if (!invoice.number) throw new PaymentDiffers(`invoice ${invoice.id} is paid without a number`);
  return {
    state: 'paid',
    payment: {
      intentId,
      chargeId: charge.id,
      chargedAt: new Date(charge.created * 1_000),
      taxCents,
      taxCountry: taxCents > 0n ? country : null,
    },
    invoice: { invoiceId: invoice.id, number: invoice.number },
  };
}

/** Monaco is part of France for VAT. */
const toTaxCountry = (address: Stripe.Address | null | undefined): string | null =>
  address?.country === 'MC' ? 'FR' : (address?.country ?? null);

const toObject = <T extends object>(value: string | T | null): T | undefined =>
  value === null || typeof value === 'string' ? undefined : value;
