import type { Stripe } from 'stripe';
import { ApiFault, invalid } from '../api/apiFault.ts';
import { cardOf } from '../state/cards.ts';
import type { Processor } from '../state/processor.ts';
import { idOf } from '../state/values.ts';
import { addBalanceTransaction, toFeeCents } from './balance.ts';
import { openDispute, warnOfFraud } from './disputes.ts';
import { attachPaymentMethod } from './paymentMethods.ts';

const LEAST_CENTS = 50;
const MOST_CENTS = 99_999_999;

interface NewIntent {
  amount: number;
  currency: string;
  customer: string | null;
  description: string | null;
  metadata: Stripe.Metadata;
  setupFutureUsage: 'off_session' | 'on_session' | null;
}

/** Throws if an amount is less or more than can be charged. */
export function checkAmount(amount: number, currency: string): void {
  if (amount < LEAST_CENTS)
    throw invalid(`Amount must be at least 50 cents of ${currency}`, { code: 'amount_too_small', param: 'amount' });
  if (amount > MOST_CENTS)
    throw invalid('Amount must be no more than 999,999.99', { code: 'amount_too_large', param: 'amount' });
}

export function addIntent(processor: Processor, options: NewIntent): Stripe.PaymentIntent {
  const { amount, currency, customer, description, metadata, setupFutureUsage } = options;
  checkAmount(amount, currency);
  const id = processor.newId('pi');
  const intent = processor.paymentIntents.add({
    id,
    object: 'payment_intent',
    allowed_payment_method_types: ['card'],
    amount,
    amount_capturable: 0,
    amount_received: 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic',
    client_secret: processor.newId(`${id}_secret`),
    confirmation_method: 'automatic',
    created: processor.now(),
    currency,
    customer,
    customer_account: null,
    description,
    excluded_payment_method_types: null,
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    managed_payments: null,
    metadata,
    next_action: null,
    on_behalf_of: null,
    payment_method: null,
    payment_method_configuration_details: null,
    payment_method_options: {
      card: { request_three_d_secure: 'automatic', installments: null, mandate_options: null, network: null },
    },
    payment_method_types: ['card'],
    payment_record: null,
    processing: null,
    receipt_email: null,
    review: null,
    setup_future_usage: setupFutureUsage,
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: 'requires_payment_method',
    transfer_data: null,
    transfer_group: null,
  });
  processor.emit('payment_intent.created', intent);
  return intent;
}

interface Attempt {
  paymentMethod: string;
  isOffSession: boolean;
  /** Whether the bank has asked the cardholder and got the answer. */
  isAuthenticated?: boolean;
  billing?: Stripe.Charge.BillingDetails;
}

/** The end of an attempt to charge a card. `asks`: the bank wants an answer of the cardholder first. */
export type Outcome =
  | { kind: 'paid'; intent: Stripe.PaymentIntent; charge: Stripe.Charge }
  | { kind: 'declined'; fault: ApiFault }
  | { kind: 'asks'; intent: Stripe.PaymentIntent };

/** Marks an intent whose bank takes its time. */
export function processIntent(processor: Processor, id: string, paymentMethod: string): void {
  const intent = processor.paymentIntents.update(id, { status: 'processing', payment_method: paymentMethod });
  processor.emit('payment_intent.processing', intent);
}

/** Charges a card for an intent. */
export function attemptIntent(processor: Processor, intentId: string, attempt: Attempt): Outcome {
  const { paymentMethod: methodId, isOffSession, isAuthenticated = false } = attempt;
  const intent = processor.paymentIntents.get(intentId);
  if (intent.status === 'succeeded' || intent.status === 'canceled')
    throw invalid(`This PaymentIntent's status is ${intent.status}, so it can no longer be paid.`, {
      code: 'payment_intent_unexpected_state',
    });
  const method = processor.paymentMethods.get(methodId, { param: 'payment_method', status: 400 });
  const card = cardOf(method);
  const answer = isOffSession ? card.offSession : card.onSession;
  if (answer === 'asks' && isOffSession)
    return decline(processor, intent, method, {
      code: 'authentication_required',
      declineCode: 'authentication_required',
      message: 'Your card was declined. This transaction requires authentication.',
    });
  if (answer === 'asks' && !isAuthenticated) {
    const asking = processor.paymentIntents.update(intentId, {
      status: 'requires_action',
      payment_method: methodId,
      next_action: { type: 'use_stripe_sdk' },
    });
    processor.emit('payment_intent.requires_action', asking);
    return { kind: 'asks', intent: asking };
  }
  if (typeof answer === 'object')
    return decline(processor, intent, method, {
      code: 'card_declined',
      declineCode: answer.decline,
      message: answer.message,
    });
  return succeed(processor, intent, method, attempt);
}

const FAILURES = {
  payment_intent_authentication_failure:
    'We are unable to authenticate your payment method. Please choose a different payment method and try again.',
  payment_intent_payment_attempt_failed: 'The payment failed.',
};

/** Ends an attempt that the bank refuses after a while: the cardholder did not convince it, or the payment failed. */
export function failIntent(processor: Processor, intentId: string, code: keyof typeof FAILURES): Outcome {
  const intent = processor.paymentIntents.get(intentId);
  const method = processor.paymentMethods.get(idOf(intent.payment_method ?? ''));
  return decline(processor, intent, method, { code, message: FAILURES[code] });
}

function succeed(
  processor: Processor,
  intent: Stripe.PaymentIntent,
  method: Stripe.PaymentMethod,
  { billing = method.billing_details }: Attempt,
): Outcome {
  const { amount, currency } = intent;
  const charge = addCharge(processor, intent, method, billing);
  const transaction = addBalanceTransaction(processor, {
    type: 'charge',
    category: 'charge',
    currency,
    amount,
    fee: toFeeCents(amount, currency),
    source: charge.id,
    description: intent.description,
  });
  const paid = processor.charges.update(charge.id, { balance_transaction: transaction.id });
  const done = processor.paymentIntents.update(intent.id, {
    status: 'succeeded',
    amount_received: amount,
    latest_charge: charge.id,
    payment_method: method.id,
    last_payment_error: null,
    next_action: null,
  });
  if (intent.setup_future_usage !== null && intent.customer !== null)
    attachPaymentMethod(processor, method.id, idOf(intent.customer));
  processor.emit('charge.succeeded', paid);
  processor.emit('payment_intent.succeeded', done);
  processor.emit('charge.updated', paid, { balance_transaction: null });
  const { aftermath } = cardOf(method);
  if (aftermath === 'dispute') openDispute(processor, { charge: charge.id });
  if (aftermath === 'inquiry') openDispute(processor, { charge: charge.id, isInquiry: true });
  if (aftermath === 'early_fraud_warning') warnOfFraud(processor, charge.id);
  return { kind: 'paid', intent: done, charge: paid };
}

function decline(
  processor: Processor,
  intent: Stripe.PaymentIntent,
  method: Stripe.PaymentMethod,
  { code, declineCode, message }: { code: string; declineCode?: string; message: string },
): Outcome {
  const failed = processor.charges.update(addCharge(processor, intent, method, method.billing_details).id, {
    status: 'failed',
    paid: false,
    captured: false,
    amount_captured: 0,
    failure_code: code,
    failure_message: message,
    outcome: {
      advice_code: null,
      network_advice_code: null,
      network_decline_code: null,
      network_status: 'declined_by_network',
      reason: declineCode ?? code,
      risk_level: 'normal',
      risk_score: 20,
      seller_message: 'The bank did not return any further details with this decline.',
      type: 'issuer_declined',
    },
  });
  const details = { code, message, charge: failed.id, ...(declineCode !== undefined && { decline_code: declineCode }) };
  const after = processor.paymentIntents.update(intent.id, {
    status: 'requires_payment_method',
    latest_charge: failed.id,
    payment_method: null,
    next_action: null,
    last_payment_error: {
      ...details,
      code: code as Stripe.PaymentIntent.LastPaymentError.Code,
      payment_method: method,
      type: 'card_error',
    },
  });
  processor.emit('charge.failed', failed);
  processor.emit('payment_intent.payment_failed', after);
  return {
    kind: 'declined',
    fault: new ApiFault(402, { type: 'card_error', ...details, payment_intent: after, payment_method: method }),
  };
}

function addCharge(
  processor: Processor,
  intent: Stripe.PaymentIntent,
  { id: methodId, card }: Stripe.PaymentMethod,
  billing: Stripe.Charge.BillingDetails,
): Stripe.Charge {
  const id = processor.newId('ch');
  return processor.charges.add({
    id,
    object: 'charge',
    amount: intent.amount,
    amount_captured: intent.amount,
    amount_refunded: 0,
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: null,
    billing_details: billing,
    calculated_statement_descriptor: 'TURNPIKE',
    captured: true,
    created: processor.now(),
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: false,
    failure_balance_transaction: null,
    failure_code: null,
    failure_message: null,
    fraud_details: {},
    livemode: false,
    // The metadata of the intent at the time of the charge.
    metadata: intent.metadata,
    on_behalf_of: null,
    outcome: {
      advice_code: null,
      network_advice_code: null,
      network_decline_code: null,
      network_status: 'approved_by_network',
      reason: null,
      risk_level: 'normal',
      risk_score: 20,
      seller_message: 'Payment complete.',
      type: 'authorized',
    },
    paid: true,
    payment_intent: intent.id,
    payment_method: methodId,
    payment_method_details: card
      ? {
          type: 'card',
          card: {
            amount_authorized: intent.amount,
            authorization_code: null,
            brand: card.brand,
            checks: card.checks,
            country: card.country,
            electronic_commerce_indicator: null,
            exp_month: card.exp_month,
            exp_year: card.exp_year,
            fingerprint: card.fingerprint ?? null,
            funding: card.funding,
            installments: null,
            last4: card.last4,
            mandate: null,
            network: card.brand,
            network_transaction_id: null,
            regulated_status: card.regulated_status,
            three_d_secure: null,
            transaction_link_id: null,
            wallet: null,
          },
        }
      : null,
    receipt_email: null,
    receipt_number: null,
    receipt_url: `${processor.origin}/receipts/${id}`,
    refunded: false,
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: 'succeeded',
    transfer_data: null,
    transfer_group: null,
  });
}
