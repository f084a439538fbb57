import type { Stripe } from 'stripe';
import { ApiFault, invalid } from '../api/apiFault.ts';
import type { Card } from '../state/cards.ts';
import type { Processor } from '../state/processor.ts';
import type { Buyer } from '../state/values.ts';
import { asDecimal, idOf } from '../state/values.ts';
import { type LineTax, listTaxIds, priceSale, sum, toBuyer, toTaxes } from '../tax/priceSale.ts';
import { addIntent, attemptIntent, failIntent, type Outcome } from './intents.ts';
import { addPaymentMethod } from './paymentMethods.ts';

/** A line before its tax. */
export interface NewLine {
  amount: number;
  description: string | null;
  quantity: number;
  metadata: Stripe.Metadata;
  /** The item that the line comes from, if it has one. */
  invoiceItem: string | null;
}

interface NewInvoice {
  customer: Stripe.Customer;
  currency: string;
  metadata: Stripe.Metadata;
  description: string | null;
  footer: string | null;
  customFields: Stripe.Invoice.CustomField[] | null;
  automaticTax: boolean;
  autoAdvance: boolean;
  collectionMethod: 'charge_automatically' | 'send_invoice';
  defaultPaymentMethod: string | null;
}

/** Makes a draft without lines. */
export function addInvoice(processor: Processor, options: NewInvoice): Stripe.Invoice {
  const invoice = processor.invoices.add(buildInvoice(processor, options));
  processor.emit('invoice.created', invoice);
  return invoice;
}

/** Returns a draft without lines, and stores nothing. */
export function buildInvoice(processor: Processor, options: NewInvoice): Stripe.Invoice {
  const { customer, currency, automaticTax } = options;
  const now = processor.now();
  const { account } = processor.settings;
  return {
    id: processor.newId('in'),
    object: 'invoice',
    account_country: account.country,
    account_name: account.name,
    account_tax_ids: null,
    amount_due: 0,
    amount_overpaid: 0,
    amount_paid: 0,
    amount_remaining: 0,
    amount_shipping: 0,
    application: null,
    attempt_count: 0,
    attempted: false,
    auto_advance: options.autoAdvance,
    automatic_tax: {
      disabled_reason: null,
      enabled: automaticTax,
      liability: automaticTax ? { type: 'self' } : null,
      provider: automaticTax ? 'stripe' : null,
      status: null,
    },
    automatically_finalizes_at: null,
    billing_reason: 'manual',
    collection_method: options.collectionMethod,
    created: now,
    currency,
    custom_fields: options.customFields,
    customer: customer.id,
    customer_account: null,
    ...ofCustomer(processor, customer),
    customer_shipping: null,
    default_payment_method: options.defaultPaymentMethod,
    default_source: null,
    default_tax_rates: [],
    description: options.description,
    discounts: [],
    due_date: null,
    effective_at: null,
    ending_balance: null,
    footer: options.footer,
    from_invoice: null,
    hosted_invoice_url: null,
    invoice_pdf: null,
    issuer: { type: 'self' },
    last_finalization_error: null,
    latest_revision: null,
    lines: { object: 'list', data: [], has_more: false, url: '' },
    livemode: false,
    metadata: options.metadata,
    next_payment_attempt: null,
    number: null,
    on_behalf_of: null,
    parent: null,
    payment_settings: { default_mandate: null, payment_method_options: null, payment_method_types: null },
    period_end: now,
    period_start: now,
    post_payment_credit_notes_amount: 0,
    pre_payment_credit_notes_amount: 0,
    receipt_number: null,
    rendering: null,
    shipping_cost: null,
    shipping_details: null,
    starting_balance: 0,
    statement_descriptor: null,
    status: 'draft',
    status_transitions: { finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null },
    subtotal: 0,
    subtotal_excluding_tax: 0,
    test_clock: null,
    total: 0,
    total_discount_amounts: [],
    total_excluding_tax: 0,
    total_pretax_credit_amounts: [],
    total_taxes: [],
    webhooks_delivered_at: now,
  };
}

/** Returns the fields that a document keeps of its customer. A draft follows the customer, a final document does not. */
const ofCustomer = (processor: Processor, customer: Stripe.Customer) => ({
  customer_address: customer.address ?? null,
  customer_email: customer.email,
  customer_name: customer.name ?? null,
  customer_phone: customer.phone ?? null,
  customer_tax_exempt: customer.tax_exempt ?? 'none',
  customer_tax_ids: listTaxIds(processor, customer.id).map(({ type, value }) => ({ type, value })),
});

/** Puts lines into a draft, with their taxes by `buyer`, or by what its customer is now. */
export const priceInvoice = (
  processor: Processor,
  id: string,
  lines: readonly NewLine[],
  buyer?: Buyer,
): Stripe.Invoice => processor.invoices.put(toPriced(processor, processor.invoices.get(id), lines, buyer));

/** Returns a draft with these lines and their taxes. */
export function toPriced(
  processor: Processor,
  invoice: Stripe.Invoice,
  lines: readonly NewLine[],
  buyer?: Buyer,
): Stripe.Invoice {
  const customer = processor.customers.get(idOf(invoice.customer ?? ''));
  const taxedAs = buyer ?? toBuyer(processor, customer);
  const isTaxed = invoice.automatic_tax.enabled;
  const nets = lines.map(({ amount }) => amount);
  const taxes = isTaxed ? priceSale(processor, taxedAs, nets) : [];
  return {
    ...invoice,
    ...ofCustomer(processor, customer),
    ...(buyer && { customer_address: buyer.address, customer_tax_ids: buyer.taxIds }),
    automatic_tax: {
      ...invoice.automatic_tax,
      status: isTaxed ? (taxes === undefined ? 'requires_location_inputs' : 'complete') : null,
    },
    ...toAmounts(processor, invoice, lines, taxes ?? []),
  };
}

/** Returns the lines and amounts of an invoice. */
function toAmounts(
  processor: Processor,
  { id, currency, created }: Pick<Stripe.Invoice, 'id' | 'currency' | 'created'>,
  lines: readonly NewLine[],
  taxes: readonly LineTax[],
): Pick<
  Stripe.Invoice,
  | 'lines'
  | 'subtotal'
  | 'subtotal_excluding_tax'
  | 'total'
  | 'total_excluding_tax'
  | 'total_taxes'
  | 'amount_due'
  | 'amount_remaining'
> {
  const net = sum(lines.map(({ amount }) => amount));
  const total = net + sum(taxes.map(({ taxCents }) => taxCents));
  const data = lines.map((line, index): Stripe.InvoiceLineItem => {
    const { amount, description, quantity, metadata, invoiceItem } = line;
    const tax = taxes[index];
    return {
      id: processor.newId('il'),
      object: 'line_item',
      amount,
      currency,
      description,
      discount_amounts: [],
      discountable: true,
      discounts: [],
      invoice: id,
      livemode: false,
      metadata,
      parent:
        invoiceItem === null
          ? null
          : {
              invoice_item_details: {
                invoice_item: invoiceItem,
                proration: false,
                proration_details: null,
                subscription: null,
              },
              subscription_item_details: null,
              type: 'invoice_item_details',
            },
      period: { end: created, start: created },
      pretax_credit_amounts: [],
      pricing: { type: 'price_details', unit_amount_decimal: asDecimal(amount / quantity) },
      quantity,
      quantity_decimal: asDecimal(quantity),
      subscription: null,
      subtotal: amount,
      taxes: tax === undefined ? [] : toTaxes([tax]),
    };
  });
  return {
    lines: { object: 'list', data, has_more: false, url: `/v1/invoices/${id}/lines` },
    subtotal: net,
    subtotal_excluding_tax: net,
    total,
    total_excluding_tax: net,
    total_taxes: toTaxes(taxes),
    amount_due: total,
    amount_remaining: total,
  };
}

/** Gives a draft its number and opens it for payment. An invoice over nothing is paid at once. */
export function finalizeInvoice(processor: Processor, id: string): Stripe.Invoice {
  const draft = processor.invoices.get(id);
  if (draft.status !== 'draft')
    throw invalid("This invoice is already finalized, you can't re-finalize a non-draft invoice.", {
      code: 'invoice_not_editable',
    });
  if (draft.automatic_tax.status === 'requires_location_inputs') {
    processor.emit('invoice.finalization_failed', draft);
    throw invalid(
      "The customer's location isn't recognized. Set a valid customer address in order to automatically calculate tax.",
      { code: 'customer_tax_location_invalid' },
    );
  }
  const customer = processor.customers.get(idOf(draft.customer ?? ''));
  const now = processor.now();
  const open = processor.invoices.update(id, {
    status: 'open',
    number: toNextNumber(processor, customer),
    effective_at: now,
    ending_balance: 0,
    hosted_invoice_url: `${processor.origin}/invoices/${id}`,
    invoice_pdf: `${processor.origin}/invoices/${id}/pdf`,
    status_transitions: { ...draft.status_transitions, finalized_at: now },
  });
  processor.emit('invoice.finalized', open);
  return open.total === 0 ? settleInvoice(processor, id, null) : open;
}

function toNextNumber(processor: Processor, customer: Stripe.Customer): string {
  const isOfAccount = processor.knobs.numbering === 'account';
  const prefix = isOfAccount ? processor.settings.account.invoicePrefix : (customer.invoice_prefix ?? customer.id);
  const number = processor.count(`invoice numbers of ${prefix}`);
  if (!isOfAccount) processor.customers.update(customer.id, { next_invoice_sequence: number + 1 });
  return `${prefix}-${String(number).padStart(4, '0')}`;
}

/** Marks an open invoice as paid by an intent, or by none if it is over nothing. */
export function settleInvoice(processor: Processor, id: string, intent: string | null): Stripe.Invoice {
  const open = processor.invoices.get(id);
  const now = processor.now();
  const payment = processor.invoicePayments.list().find((each) => each.invoice === id && each.status === 'open');
  const paid: Pick<Stripe.InvoicePayment, 'amount_paid' | 'status' | 'status_transitions'> = {
    amount_paid: open.total,
    status: 'paid',
    status_transitions: { canceled_at: null, paid_at: now },
  };
  if (payment) processor.invoicePayments.update(payment.id, paid);
  else if (intent !== null) processor.invoicePayments.update(addInvoicePayment(processor, open, intent).id, paid);
  const settled = processor.invoices.update(id, {
    status: 'paid',
    amount_paid: open.total,
    amount_remaining: 0,
    attempted: true,
    attempt_count: open.attempt_count + 1,
    auto_advance: false,
    status_transitions: { ...open.status_transitions, paid_at: now },
  });
  processor.emit('invoice.updated', settled, { status: 'open' });
  processor.emit('invoice.paid', settled);
  processor.emit('invoice.payment_succeeded', settled);
  return settled;
}

/** Notes that an intent is to pay an invoice. */
const addInvoicePayment = (
  processor: Processor,
  { id, currency, total }: Stripe.Invoice,
  intent: string,
): Stripe.InvoicePayment =>
  processor.invoicePayments.add({
    id: processor.newId('inpay'),
    object: 'invoice_payment',
    amount_paid: null,
    amount_requested: total,
    created: processor.now(),
    currency,
    invoice: id,
    is_default: true,
    livemode: false,
    payment: { payment_intent: intent, type: 'payment_intent' },
    status: 'open',
    status_transitions: { canceled_at: null, paid_at: null },
  });

/** Puts the items of a draft into its lines. */
export const priceItems = (processor: Processor, id: string): Stripe.Invoice =>
  priceInvoice(
    processor,
    id,
    processor.invoiceItems
      .list()
      .filter((each) => each.invoice === id)
      .map(({ amount, description, quantity, metadata, id: invoiceItem }) => ({
        amount,
        description,
        quantity,
        metadata: metadata ?? {},
        invoiceItem,
      })),
  );

/** Charges an open invoice. Throws the fault of a declined card, or of a bank that asks, and the invoice stays open. */
export function payInvoice(
  processor: Processor,
  id: string,
  { paymentMethod, isOffSession }: { paymentMethod: string | null; isOffSession: boolean },
): Stripe.Invoice {
  const invoice = processor.invoices.get(id);
  if (invoice.status === 'paid') throw invalid('Invoice is already paid');
  if (invoice.status !== 'open') throw invalid(`Only open invoices can be paid. This invoice is ${invoice.status}.`);
  const intent = findIntent(processor, invoice) ?? startPayment(processor, invoice);
  const outcome = attemptIntent(processor, intent, {
    paymentMethod: toMethod(processor, invoice, paymentMethod),
    isOffSession,
  });
  if (outcome.kind === 'paid') return settleInvoice(processor, id, intent);
  const tried = processor.invoices.update(id, { attempted: true, attempt_count: invoice.attempt_count + 1 });
  processor.emit('invoice.payment_failed', tried);
  if (outcome.kind === 'declined') throw outcome.fault;
  processor.emit('invoice.payment_action_required', tried);
  throw new ApiFault(402, {
    type: 'card_error',
    code: 'invoice_payment_intent_requires_action',
    message:
      'This payment requires additional user action before it can be completed successfully. Payment can be completed using the PaymentIntent associated with the invoice.',
    payment_intent: outcome.intent,
  });
}

function requireOpen(processor: Processor, id: string): Stripe.Invoice {
  const invoice = processor.invoices.get(id);
  if (invoice.status !== 'open')
    throw invalid(`Only open invoices can be paid. This invoice is ${invoice.status ?? 'deleted'}.`);
  return invoice;
}

/** Charges a card for an open invoice, as its customer does on the invoice's page. */
export function payInvoiceInPerson(processor: Processor, id: string, card: Card): Outcome {
  const invoice = requireOpen(processor, id);
  const { customer_address: address, customer_email: email, customer_name: name } = invoice;
  const intent = findIntent(processor, invoice) ?? startPayment(processor, invoice);
  const { id: paymentMethod } = addPaymentMethod(processor, card, { address, email, name });
  return concludeInPerson(processor, id, attemptIntent(processor, intent, { paymentMethod, isOffSession: false }));
}

/** Ends the bank's question about an open invoice. */
export function answerInvoiceBank(processor: Processor, id: string, isApproved: boolean): Outcome {
  const intent = findIntent(processor, requireOpen(processor, id));
  const asking = intent === undefined ? undefined : processor.paymentIntents.get(intent);
  if (asking?.status !== 'requires_action' || asking.payment_method === null)
    throw invalid('The bank asks nothing about this payment.');
  const outcome = isApproved
    ? attemptIntent(processor, asking.id, {
        ...{ paymentMethod: idOf(asking.payment_method), isOffSession: false, isAuthenticated: true },
      })
    : failIntent(processor, asking.id, 'payment_intent_authentication_failure');
  return concludeInPerson(processor, id, outcome);
}

function concludeInPerson(processor: Processor, id: string, outcome: Outcome): Outcome {
  if (outcome.kind === 'paid') settleInvoice(processor, id, outcome.intent.id);
  else {
    const { attempt_count: attempts } = processor.invoices.get(id);
    processor.invoices.update(id, { attempted: true, attempt_count: attempts + 1 });
  }
  return outcome;
}

function toMethod(processor: Processor, invoice: Stripe.Invoice, given: string | null): string {
  const customer = processor.customers.get(idOf(invoice.customer ?? ''));
  const method = given ?? invoice.default_payment_method ?? customer.invoice_settings.default_payment_method;
  if (method === null)
    throw invalid(
      `Cannot charge customer ${customer.id}: there is no default payment method. Set one or pass a payment_method.`,
      { code: 'resource_missing', param: 'payment_method' },
    );
  const { id, customer: owner } = processor.paymentMethods.get(idOf(method), { param: 'payment_method', status: 400 });
  if (owner === null || idOf(owner) !== customer.id)
    throw invalid(`The customer does not have a payment method with the ID ${id}.`, {
      code: 'resource_missing',
      param: 'payment_method',
    });
  return id;
}

/** Voids an open invoice: its number stays, and nothing is owed. */
export function voidInvoice(processor: Processor, id: string): Stripe.Invoice {
  const open = processor.invoices.get(id);
  if (open.status !== 'open')
    throw invalid(`You can only void open invoices. This invoice is ${open.status}.`, { code: 'invoice_not_editable' });
  const now = processor.now();
  const intent = findIntent(processor, open);
  if (intent !== undefined) {
    const canceled = processor.paymentIntents.update(intent, {
      status: 'canceled',
      canceled_at: now,
      cancellation_reason: 'void_invoice',
      next_action: null,
    });
    processor.emit('payment_intent.canceled', canceled);
    for (const each of processor.invoicePayments.list().filter(({ invoice }) => invoice === id))
      processor.invoicePayments.update(each.id, {
        status: 'canceled',
        status_transitions: { canceled_at: now, paid_at: null },
      });
  }
  const voided = processor.invoices.update(id, {
    status: 'void',
    auto_advance: false,
    status_transitions: { ...open.status_transitions, voided_at: now },
  });
  processor.emit('invoice.voided', voided);
  return voided;
}

function startPayment(processor: Processor, invoice: Stripe.Invoice): string {
  // An intent of an invoice has none of the invoice's metadata.
  const { id } = addIntent(processor, {
    amount: invoice.total,
    currency: invoice.currency,
    customer: idOf(invoice.customer ?? ''),
    description: invoice.description,
    metadata: {},
    setupFutureUsage: null,
  });
  addInvoicePayment(processor, invoice, id);
  return id;
}

function findIntent(processor: Processor, { id }: Stripe.Invoice): string | undefined {
  const payment = processor.invoicePayments.list().find(({ invoice, status }) => invoice === id && status === 'open');
  return payment?.payment.payment_intent === undefined ? undefined : idOf(payment.payment.payment_intent);
}
