import type { Stripe } from 'stripe';
import { toMoney } from './page.ts';
import { toPdf } from './pdf.ts';

/** Returns the PDF of an invoice. The same state of an invoice has the same bytes. */
export const invoicePdf = (invoice: Stripe.Invoice): Buffer =>
  toPdf([
    `Invoice ${invoice.number ?? '(draft)'}`,
    `Date: ${toDay(invoice.effective_at ?? invoice.created)}`,
    ...toParties(invoice),
    ...(invoice.custom_fields ?? []).map(({ name, value }) => `${name}: ${value}`),
    '',
    ...toAmountLines(invoice),
    `Status: ${invoice.status ?? ''}`,
    invoice.footer ?? '',
  ]);

/** Returns the PDF of a credit note about an invoice. */
export const creditNotePdf = (note: Stripe.CreditNote, invoice: Stripe.Invoice): Buffer =>
  toPdf([
    `Credit note ${note.number}`,
    `Date: ${toDay(note.effective_at ?? note.created)}`,
    `For invoice ${invoice.number ?? ''} of ${toDay(invoice.effective_at ?? invoice.created)}`,
    ...toParties(invoice),
    '',
    ...toAmountLines(note),
    note.memo ?? '',
  ]);

function toParties(invoice: Stripe.Invoice): string[] {
  const { customer_address: address } = invoice;
  return [
    `Seller: ${invoice.account_name ?? ''}, ${invoice.account_country ?? ''}`,
    `Customer: ${invoice.customer_name ?? invoice.customer_email ?? ''}`,
    [address?.line1, address?.postal_code, address?.city, address?.country].filter(Boolean).join(', '),
    ...(invoice.customer_tax_ids ?? []).map(({ value }) => `VAT id of the customer: ${value ?? ''}`),
  ];
}

function toAmountLines({
  currency,
  lines,
  subtotal,
  total,
  total_taxes: taxes,
}: Stripe.Invoice | Stripe.CreditNote): string[] {
  const money = (cents: number) => toMoney(cents, currency);
  return [
    ...lines.data.map(({ description, amount }) => `${description ?? ''}: ${money(amount)}`),
    `Net: ${money(subtotal)}`,
    ...(taxes ?? []).map(({ amount, taxability_reason: reason }) =>
      reason === 'reverse_charge' ? 'Reverse charge: the customer owes the VAT' : `Tax: ${money(amount)}`,
    ),
    `Total: ${money(total)}`,
  ];
}

const toDay = (seconds: number): string => new Date(seconds * 1_000).toISOString().slice(0, 10);
