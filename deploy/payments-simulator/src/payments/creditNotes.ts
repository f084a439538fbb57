import type { Stripe } from 'stripe';
import { invalid } from '../api/apiFault.ts';
import type { Processor } from '../state/processor.ts';
import { idOf } from '../state/values.ts';
import { sum } from '../tax/priceSale.ts';
import { addRefund } from './refunds.ts';

export interface NewCreditNote {
  invoice: string;
  /** Cents with tax. Either this or `lines`. */
  amount?: number | undefined;
  /** Cents without tax of lines of the invoice. */
  lines?: { invoiceLineItem: string; amount: number }[] | undefined;
  refundAmount: number;
  outOfBandAmount: number;
  reason: 'duplicate' | 'fraudulent' | 'order_change' | 'product_unsatisfactory' | null;
  memo: string | null;
  metadata: Stripe.Metadata;
}

interface CreditedLine {
  line: Stripe.InvoiceLineItem;
  net: number;
  tax: number;
}

/** Returns the credit note that these parameters would make. Stores nothing. */
export function buildCreditNote(processor: Processor, options: NewCreditNote): Stripe.CreditNote {
  const invoice = processor.invoices.get(options.invoice, { param: 'invoice', status: 400 });
  if (invoice.status !== 'paid')
    throw invalid(`The simulator credits paid invoices only; this one is ${invoice.status}.`, { param: 'invoice' });
  const lines = toCreditedLines(processor, invoice, options);
  const net = sum(lines.map((each) => each.net));
  const total = net + sum(lines.map(({ tax }) => tax));
  const left = invoice.total - invoice.post_payment_credit_notes_amount;
  if (total < 1) throw invalid('A credit note has to be over at least 1 cent.', { param: 'amount' });
  if (total > left)
    throw invalid(`The credit note amount (${total}) is greater than what is left of the invoice (${left}).`, {
      param: 'amount',
    });
  const settled = options.refundAmount + options.outOfBandAmount;
  if (settled !== total)
    throw invalid(
      `The sum of credit amount, refund amount and out of band amount (${settled}) must equal the credit note amount (${total}).`,
    );
  const id = processor.newId('cn');
  const count = creditNotesOf(processor, invoice.id).length + 1;
  const now = processor.now();
  return {
    id,
    object: 'credit_note',
    amount: total,
    amount_shipping: 0,
    created: now,
    currency: invoice.currency,
    customer: idOf(invoice.customer ?? ''),
    customer_account: null,
    customer_balance_transaction: null,
    discount_amount: 0,
    discount_amounts: [],
    effective_at: now,
    invoice: invoice.id,
    lines: {
      object: 'list',
      data: lines.map((line) => toLine(processor, line)),
      has_more: false,
      url: `/v1/credit_notes/${id}/lines`,
    },
    livemode: false,
    memo: options.memo,
    metadata: options.metadata,
    number: `${invoice.number}-CN-${String(count).padStart(2, '0')}`,
    out_of_band_amount: options.outOfBandAmount || null,
    pdf: `${processor.origin}/credit-notes/${id}/pdf`,
    post_payment_amount: total,
    pre_payment_amount: 0,
    pretax_credit_amounts: [],
    reason: options.reason,
    refunds: [],
    shipping_cost: null,
    status: 'issued',
    subtotal: net,
    subtotal_excluding_tax: net,
    total,
    total_excluding_tax: net,
    total_taxes: toTaxes(invoice.total_taxes ?? [], lines),
    type: 'post_payment',
    voided_at: null,
  };
}

/** Issues a credit note and refunds its amount. Throws, and does neither, if the charge cannot be refunded. */
export function addCreditNote(processor: Processor, options: NewCreditNote): Stripe.CreditNote {
  const built = buildCreditNote(processor, options);
  const refund =
    options.refundAmount === 0
      ? undefined
      : addRefund(processor, {
          charge: findCharge(processor, options.invoice),
          amount: options.refundAmount,
          reason: 'requested_by_customer',
          metadata: options.metadata,
        });
  const note = processor.creditNotes.add({
    ...built,
    refunds: refund
      ? [{ amount_refunded: refund.amount, payment_record_refund: null, refund: refund.id, type: 'refund' }]
      : [],
  });
  const { post_payment_credit_notes_amount: before } = processor.invoices.get(options.invoice);
  processor.invoices.update(options.invoice, { post_payment_credit_notes_amount: before + note.total });
  processor.emit('credit_note.created', note);
  return note;
}

const creditNotesOf = (processor: Processor, invoice: string): Stripe.CreditNote[] =>
  processor.creditNotes.list().filter((each) => idOf(each.invoice) === invoice);

function findCharge(processor: Processor, invoice: string): string {
  const payment = processor.invoicePayments.list().find((each) => each.invoice === invoice && each.status === 'paid');
  const intent = processor.paymentIntents.get(idOf(payment?.payment.payment_intent ?? ''));
  return idOf(intent.latest_charge ?? '');
}

function toCreditedLines(
  processor: Processor,
  invoice: Stripe.Invoice,
  { amount, lines }: NewCreditNote,
): CreditedLine[] {
  const [first] = invoice.lines.data;
  if ((amount === undefined) === (lines === undefined) || first === undefined)
    throw invalid('You must provide either `amount` or `lines`.', { param: 'amount' });
  if (amount !== undefined) return [splitGross(processor, invoice, first, amount)];
  return (lines ?? []).map(({ invoiceLineItem, amount: net }) => {
    const line = invoice.lines.data.find(({ id }) => id === invoiceLineItem);
    if (line === undefined)
      throw invalid(`No such invoice line item: '${invoiceLineItem}'`, { code: 'resource_missing', param: 'lines' });
    const before = creditedBefore(processor, invoice.id, line.id);
    if (net < 1 || before.net + net > line.amount)
      throw invalid(`The line has ${line.amount - before.net} cents left to credit.`, { param: 'lines' });
    return { line, net, tax: toShare(taxOf(line), before.net + net, line.amount) - before.tax };
  });
}

/** Divides an amount with tax. What is left of the invoice takes what rounding left. */
function splitGross(
  processor: Processor,
  invoice: Stripe.Invoice,
  line: Stripe.InvoiceLineItem,
  gross: number,
): CreditedLine {
  if (invoice.lines.data.length > 1)
    throw invalid('The simulator credits an invoice of several lines by its lines only.', { param: 'amount' });
  const before = creditedBefore(processor, invoice.id, line.id);
  const grossBefore = before.net + before.tax;
  const net = toShare(line.amount, grossBefore + gross, invoice.total) - before.net;
  return { line, net, tax: gross - net };
}

/** Returns the share of `whole` that belongs to `part` of `of`, rounded half up. */
const toShare = (whole: number, part: number, of: number): number =>
  of === 0 ? 0 : Number((BigInt(whole) * BigInt(part) * 2n + BigInt(of)) / (BigInt(of) * 2n));

const taxOf = ({ taxes }: Stripe.InvoiceLineItem): number => sum((taxes ?? []).map(({ amount }) => amount));

function creditedBefore(processor: Processor, invoice: string, line: string): { net: number; tax: number } {
  const lines = creditNotesOf(processor, invoice)
    .flatMap(({ lines: { data } }) => data)
    .filter((each) => each.invoice_line_item === line);
  return {
    net: sum(lines.map(({ amount }) => amount)),
    tax: sum(lines.flatMap(({ taxes }) => (taxes ?? []).map(({ amount }) => amount))),
  };
}

const toLine = (processor: Processor, { line, net, tax }: CreditedLine): Stripe.CreditNoteLineItem => ({
  id: processor.newId('cnli'),
  object: 'credit_note_line_item',
  amount: net,
  description: line.description,
  discount_amount: 0,
  discount_amounts: [],
  invoice_line_item: line.id,
  livemode: false,
  metadata: {},
  pretax_credit_amounts: [],
  quantity: null,
  tax_rates: [],
  taxes: toTaxes(line.taxes ?? [], [{ line, net, tax }]),
  type: 'invoice_line_item',
  unit_amount: null,
  unit_amount_decimal: null,
});

/** The taxes of the invoice over the credited share. */
const toTaxes = (
  [tax]: readonly Stripe.Invoice.TotalTax[],
  lines: readonly CreditedLine[],
): Stripe.CreditNote.TotalTax[] =>
  tax === undefined
    ? []
    : [
        {
          ...tax,
          amount: sum(lines.map((each) => each.tax)),
          taxable_amount: tax.taxable_amount === 0 ? 0 : sum(lines.map(({ net }) => net)),
        },
      ];
