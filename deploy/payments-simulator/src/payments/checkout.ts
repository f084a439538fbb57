import type { Stripe } from 'stripe';
import { invalid } from '../api/apiFault.ts';
import type { Card } from '../state/cards.ts';
import type { Processor, SessionSecrets } from '../state/processor.ts';
import type { Buyer } from '../state/values.ts';
import { asDecimal, idOf } from '../state/values.ts';
import { priceSale, sum, toBreakdown, toBuyer } from '../tax/priceSale.ts';
import { addIntent, attemptIntent, checkAmount, failIntent, type Outcome, processIntent } from './intents.ts';
import { addInvoice, finalizeInvoice, type NewLine, priceInvoice, settleInvoice } from './invoices.ts';
import { addPaymentMethod } from './paymentMethods.ts';

export interface NewSessionLine {
  name: string;
  description: string | null;
  unitAmount: number;
  quantity: number;
  metadata: Stripe.Metadata;
}

export interface NewSession {
  customer: string;
  clientReferenceId: string | null;
  currency: string;
  lines: NewSessionLine[];
  metadata: Stripe.Metadata;
  automaticTax: boolean;
  /** A message beside the button that pays. */
  submitText: string | null;
  adaptivePricing: boolean;
  invoiceData: Stripe.Checkout.Session.InvoiceCreation.InvoiceData | null;
  billingAddressCollection: 'auto' | 'required' | null;
  expiresAt: number | null;
  successUrl: string;
  cancelUrl: string | null;
  secrets: Omit<SessionSecrets, 'id' | 'askedPaymentMethod' | 'taxedAs'>;
}

const LONGEST_LIFE_SECONDS = 24 * 3_600;
const SHORTEST_LIFE_SECONDS = 30 * 60;

/** Opens a session for a payment on the hosted page. */
export function addSession(processor: Processor, options: NewSession): Stripe.Checkout.Session {
  const { currency, lines } = options;
  const now = processor.now();
  const expiresAt = options.expiresAt ?? now + LONGEST_LIFE_SECONDS;
  // A minute of grace, since the request took time.
  if (expiresAt < now + SHORTEST_LIFE_SECONDS - 60 || expiresAt > now + LONGEST_LIFE_SECONDS)
    throw invalid(
      'The `expires_at` timestamp must be at least 30 minutes and less than 24 hours from Checkout Session creation.',
      {
        param: 'expires_at',
      },
    );
  processor.customers.get(options.customer, { param: 'customer', status: 400 });
  checkAmount(sum(lines.map(({ unitAmount, quantity }) => unitAmount * quantity)), currency);
  const id = processor.newId('cs_test');
  const items = lines.map((line) => toItem(processor, line, currency));
  processor.sessionSecrets.add({ id, askedPaymentMethod: null, taxedAs: null, ...options.secrets });
  processor.sessions.add({
    id,
    object: 'checkout.session',
    adaptive_pricing: { enabled: options.adaptivePricing },
    after_expiration: null,
    allow_promotion_codes: null,
    allowed_payment_method_types: ['card'],
    amount_subtotal: 0,
    amount_total: 0,
    automatic_tax: {
      enabled: options.automaticTax,
      liability: options.automaticTax ? { type: 'self' } : null,
      provider: options.automaticTax ? 'stripe' : null,
      status: null,
    },
    billing_address_collection: options.billingAddressCollection,
    cancel_url: options.cancelUrl,
    client_reference_id: options.clientReferenceId,
    client_secret: null,
    collected_information: null,
    consent: null,
    consent_collection: null,
    created: now,
    currency,
    currency_conversion: null,
    custom_fields: [],
    custom_text: {
      after_submit: null,
      shipping_address: null,
      submit: options.submitText === null ? null : { message: options.submitText },
      terms_of_service_acceptance: null,
    },
    customer: options.customer,
    customer_account: null,
    customer_creation: null,
    customer_details: null,
    customer_email: null,
    discounts: [],
    expires_at: expiresAt,
    integration_identifier: null,
    invoice: null,
    invoice_creation: {
      enabled: options.invoiceData !== null,
      invoice_data: options.invoiceData ?? {
        account_tax_ids: null,
        custom_fields: null,
        description: null,
        footer: null,
        issuer: null,
        metadata: {},
        rendering_options: null,
      },
    },
    line_items: { object: 'list', data: items, has_more: false, url: `/v1/checkout/sessions/${id}/line_items` },
    livemode: false,
    locale: null,
    managed_payments: { enabled: false },
    metadata: options.metadata,
    mode: 'payment',
    origin_context: null,
    payment_intent: null,
    payment_link: null,
    payment_method_collection: 'if_required',
    payment_method_configuration_details: null,
    payment_method_options: { card: { request_three_d_secure: 'automatic' } },
    payment_method_types: ['card'],
    payment_status: 'unpaid',
    permissions: null,
    phone_number_collection: { enabled: false },
    recovered_from: null,
    saved_payment_method_options: null,
    setup_intent: null,
    shipping_address_collection: null,
    shipping_cost: null,
    shipping_options: [],
    status: 'open',
    submit_type: null,
    subscription: null,
    success_url: options.successUrl,
    total_details: null,
    ui_mode: 'hosted_page',
    url: `${processor.origin}/c/pay/${id}`,
    wallet_options: null,
  });
  return priceSession(processor, id);
}

function toItem(processor: Processor, line: NewSessionLine, currency: string): Stripe.LineItem {
  const { name, unitAmount, quantity, metadata } = line;
  const amount = unitAmount * quantity;
  return {
    id: processor.newId('li'),
    object: 'item',
    adjustable_quantity: null,
    amount_discount: 0,
    amount_subtotal: amount,
    amount_tax: 0,
    amount_total: amount,
    currency,
    description: name,
    metadata,
    price: {
      id: processor.newId('price'),
      object: 'price',
      active: false,
      billing_scheme: 'per_unit',
      created: processor.now(),
      currency,
      custom_unit_amount: null,
      livemode: false,
      lookup_key: null,
      metadata: {},
      nickname: null,
      product: processor.newId('prod'),
      recurring: null,
      tax_behavior: 'exclusive',
      tiers_mode: null,
      transform_quantity: null,
      type: 'one_time',
      unit_amount: unitAmount,
      unit_amount_decimal: asDecimal(unitAmount),
    },
    quantity,
  };
}

export const customerOf = (processor: Processor, { customer }: Stripe.Checkout.Session): Stripe.Customer =>
  processor.customers.get(idOf(customer ?? ''));

/** Returns the buyer of a session: its customer, or the address that was typed on the page. */
function toSessionBuyer(processor: Processor, session: Stripe.Checkout.Session): Buyer {
  const typed = session.customer_details?.address ?? null;
  const buyer = toBuyer(processor, customerOf(processor, session));
  const { customerUpdate } = processor.sessionSecrets.get(session.id);
  // Tax follows the saved address, unless the session may change it.
  return customerUpdate.address === 'auto' && typed !== null ? { ...buyer, address: typed } : buyer;
}

/** Computes tax and total of an open session anew. */
export function priceSession(processor: Processor, id: string): Stripe.Checkout.Session {
  const session = processor.sessions.get(id);
  const items = session.line_items?.data ?? [];
  const nets = items.map((item) => item.amount_subtotal);
  const isTaxed = session.automatic_tax.enabled;
  const taxes = isTaxed ? priceSale(processor, toSessionBuyer(processor, session), nets) : [];
  const subtotal = sum(nets);
  const tax = sum((taxes ?? []).map(({ taxCents }) => taxCents));
  const priced = items.map((item, index) => {
    const lineTax = taxes?.[index];
    const amount = lineTax?.taxCents ?? 0;
    return {
      ...item,
      amount_tax: amount,
      amount_total: item.amount_subtotal + amount,
      taxes: lineTax ? toBreakdown([lineTax]) : [],
    };
  });
  return processor.sessions.update(id, {
    amount_subtotal: subtotal,
    amount_total: subtotal + tax,
    automatic_tax: {
      ...session.automatic_tax,
      status: isTaxed ? (taxes === undefined ? 'requires_location_inputs' : 'complete') : null,
    },
    line_items: { object: 'list', data: priced, has_more: false, url: `/v1/checkout/sessions/${id}/line_items` },
    total_details: {
      amount_discount: 0,
      amount_shipping: 0,
      amount_tax: tax,
      breakdown: { discounts: [], taxes: toBreakdown(taxes ?? []) },
    },
  });
}

/** Takes the address, and the name if there is one, that was typed on the page. */
export function enterAddress(
  processor: Processor,
  id: string,
  { address, name }: { address: Stripe.Address; name: string | null },
): Stripe.Checkout.Session {
  const session = requireOpen(processor, id);
  const details = toDetails(processor, session);
  processor.sessions.update(id, { customer_details: { ...details, address, name: name ?? details.name } });
  return priceSession(processor, id);
}

function toDetails(processor: Processor, session: Stripe.Checkout.Session): Stripe.Checkout.Session.CustomerDetails {
  const customer = customerOf(processor, session);
  return {
    address: session.customer_details?.address ?? customer.address ?? null,
    business_name: null,
    email: customer.email,
    individual_name: null,
    name: session.customer_details?.name ?? customer.name ?? null,
    phone: null,
    tax_exempt: customer.tax_exempt ?? 'none',
    tax_ids: toBuyer(processor, customer).taxIds,
  };
}

/** Pays an open session with a card, as a visitor of the page does. `processing`: the bank takes its time. */
export function paySession(processor: Processor, id: string, card: Card): Outcome | 'processing' {
  const session = priceSession(processor, requireOpen(processor, id).id);
  if (session.automatic_tax.status === 'requires_location_inputs')
    throw invalid('The page needs the country of the buyer to compute the tax.');
  const { paymentIntentData } = processor.sessionSecrets.get(id);
  const details = toDetails(processor, session);
  const amount = session.amount_total ?? 0;
  const known =
    session.payment_intent === null ? undefined : processor.paymentIntents.get(idOf(session.payment_intent));
  // Another address may have changed the tax since the last attempt.
  const intent =
    known === undefined
      ? addIntent(processor, {
          amount,
          currency: session.currency ?? 'eur',
          customer: idOf(session.customer ?? ''),
          description: paymentIntentData.description,
          metadata: paymentIntentData.metadata,
          setupFutureUsage: paymentIntentData.setupFutureUsage,
        })
      : processor.paymentIntents.update(known.id, { amount });
  processor.sessions.update(id, { payment_intent: intent.id, customer_details: details });
  processor.sessionSecrets.update(id, { taxedAs: toSessionBuyer(processor, session) });
  const { address, email, name } = details;
  const method = addPaymentMethod(processor, card, { address, email, name });
  if (processor.knobs.slowPayments !== 'none') {
    processIntent(processor, intent.id, method.id);
    completeSession(processor, id, 'unpaid');
    processor.later(processor.knobs.slowPaymentMs, () => endSlowPayment(processor, id));
    return 'processing';
  }
  const outcome = attemptIntent(processor, intent.id, { paymentMethod: method.id, isOffSession: false });
  return conclude(processor, id, outcome, method.id);
}

/** Ends the bank's question about an open session. */
export function answerBank(processor: Processor, id: string, isApproved: boolean): Outcome {
  const session = requireOpen(processor, id);
  const { askedPaymentMethod } = processor.sessionSecrets.get(id);
  if (session.payment_intent === null || askedPaymentMethod === null)
    throw invalid('The bank asks nothing about this payment.');
  const intent = idOf(session.payment_intent);
  if (processor.paymentIntents.get(intent).amount !== session.amount_total)
    throw invalid('The total has changed since the bank was asked. Go back and pay again.');
  const outcome = isApproved
    ? attemptIntent(processor, intent, {
        paymentMethod: askedPaymentMethod,
        isOffSession: false,
        isAuthenticated: true,
      })
    : failIntent(processor, intent, 'payment_intent_authentication_failure');
  return conclude(processor, id, outcome, askedPaymentMethod);
}

function conclude(processor: Processor, id: string, outcome: Outcome, method: string): Outcome {
  processor.sessionSecrets.update(id, { askedPaymentMethod: outcome.kind === 'asks' ? method : null });
  if (outcome.kind !== 'paid') return outcome;
  completeSession(processor, id, 'paid');
  invoiceLater(processor, id);
  return outcome;
}

function completeSession(processor: Processor, id: string, paymentStatus: 'paid' | 'unpaid'): void {
  const session = processor.sessions.get(id);
  const { address = null, name = null } = session.customer_details ?? {};
  const { customerUpdate } = processor.sessionSecrets.get(id);
  const values = {
    ...(address !== null && customerUpdate.address === 'auto' && { address }),
    ...(name !== null && customerUpdate.name === 'auto' && { name }),
  };
  if (Object.keys(values).length > 0)
    processor.emit('customer.updated', processor.customers.update(customerOf(processor, session).id, values));
  const complete = processor.sessions.update(id, { status: 'complete', payment_status: paymentStatus, url: null });
  processor.emit('checkout.session.completed', complete);
}

/** Ends a payment that was processing, as the knob says. */
export function endSlowPayment(processor: Processor, id: string): void {
  const { payment_intent: reference } = processor.sessions.get(id);
  const intent = processor.paymentIntents.get(idOf(reference ?? ''));
  if (intent.status !== 'processing') return;
  if (processor.knobs.slowPayments === 'fail') {
    failIntent(processor, intent.id, 'payment_intent_payment_attempt_failed');
    processor.emit('checkout.session.async_payment_failed', processor.sessions.get(id));
    return;
  }
  const paymentMethod = idOf(intent.payment_method ?? '');
  attemptIntent(processor, intent.id, { paymentMethod, isOffSession: false, isAuthenticated: true });
  processor.emit('checkout.session.async_payment_succeeded', processor.sessions.update(id, { payment_status: 'paid' }));
  invoiceLater(processor, id);
}

function invoiceLater(processor: Processor, id: string): void {
  if (processor.sessions.get(id).invoice_creation?.enabled)
    processor.later(processor.knobs.invoiceDelayMs, () => invoiceSession(processor, id));
}

/** Makes the paid invoice of a completed session, unless it has one. */
export function invoiceSession(processor: Processor, id: string): void {
  const session = processor.sessions.get(id);
  const data = session.invoice_creation?.invoice_data;
  if (session.invoice !== null || session.payment_status !== 'paid' || session.payment_intent === null || !data) return;
  const customer = customerOf(processor, session);
  const draft = addInvoice(processor, {
    customer,
    currency: session.currency ?? 'eur',
    metadata: data.metadata ?? {},
    description: data.description,
    footer: data.footer,
    customFields: data.custom_fields,
    automaticTax: session.automatic_tax.enabled,
    autoAdvance: false,
    collectionMethod: 'charge_automatically',
    defaultPaymentMethod: null,
  });
  const lines = (session.line_items?.data ?? []).map(
    (item): NewLine => ({
      amount: item.amount_subtotal,
      description: item.description,
      quantity: item.quantity ?? 1,
      metadata: item.metadata ?? {},
      invoiceItem: null,
    }),
  );
  // The invoice has the taxes that were paid, whatever has become of the customer since.
  priceInvoice(processor, draft.id, lines, processor.sessionSecrets.get(id).taxedAs ?? undefined);
  finalizeInvoice(processor, draft.id);
  processor.sessions.update(id, { invoice: draft.id });
  settleInvoice(processor, draft.id, idOf(session.payment_intent));
}

/** Ends an open session without payment. */
export function expireSession(processor: Processor, id: string): Stripe.Checkout.Session {
  requireOpen(processor, id);
  const expired = processor.sessions.update(id, { status: 'expired', url: null });
  processor.emit('checkout.session.expired', expired);
  return expired;
}

/** Ends the sessions whose time is over. */
export function expireDueSessions(processor: Processor): void {
  for (const { id, status, expires_at: at } of processor.sessions.list())
    if (status === 'open' && at <= processor.now()) expireSession(processor, id);
}

function requireOpen(processor: Processor, id: string): Stripe.Checkout.Session {
  const session = processor.sessions.get(id, { param: 'session' });
  if (session.status !== 'open')
    throw invalid(
      `Only Checkout Sessions with a status in ["open"] can be changed. This Checkout Session has a status of ${session.status}.`,
      {
        param: 'session',
      },
    );
  return session;
}
