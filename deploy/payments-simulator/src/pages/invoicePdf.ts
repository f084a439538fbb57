import type { Stripe } from 'stripe';
import { toMoney } from './page.ts';
import { toPdf } from './pdf.ts';

/** Returns the PDF of an invoice. The same invoice has the same bytes. */
export function invoicePdf(invoice: Stripe.Invoice): Buffer {
  const money = (cents: number) => toMoney(cents, invoice.currency);
  const { customer_address: address } = invoice;
  return toPdf([
    `Invoice ${invoice.number ?? '(draft)'}`,
    `Date: ${toDay(invoice.effective_at ?? invoice.created)}`,
    `Seller: ${invoice.account_name ?? ''}, ${invoice.account_country ?? ''}`,
    `Customer: ${invoice.customer_name ?? invoice.customer_email ?? ''}`,
    [address?.line1, address?.postal_code, address?.city, address?.country].filter(Boolean).join(', '),
    ...(invoice.customer_tax_ids ?? []).map(({ value }) => `VAT id of the customer: ${value ?? ''}`),
    '',
    ...invoice.lines.data.map(({ description, amount }) => `${description ?? ''}: ${money(amount)}`),
    `Net: ${money(invoice.subtotal)}`,
    ...(invoice.total_taxes ?? []).map(toTaxLine(money)),
    `Total: ${money(invoice.total)}`,
    `Status: ${invoice.status ?? ''}`,
  ]);
}

export const toTaxLine =
  (money: (cents: number) => string) =>
  ({ amount, taxability_reason: reason }: Stripe.Invoice.TotalTax): string =>
    reason === 'reverse_charge' ? 'Reverse charge: the customer owes the VAT' : `Tax: ${money(amount)}`;

export const toDay = (seconds: number): string => new Date(seconds * 1_000).toISOString().slice(0, 10);
