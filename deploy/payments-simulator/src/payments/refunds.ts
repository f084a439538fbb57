import type { Stripe } from 'stripe';
import { invalid } from '../api/apiFault.ts';
import type { Processor } from '../state/processor.ts';
import { idOf } from '../state/values.ts';
import { addBalanceTransaction } from './balance.ts';

interface NewRefund {
  charge: string;
  /** All that is not refunded if absent. */
  amount?: number | undefined;
  reason?: 'duplicate' | 'fraudulent' | 'requested_by_customer' | undefined;
  metadata?: Stripe.Metadata | undefined;
}

/** Gives money of a charge back. Throws if the charge is disputed or has less left. */
export function addRefund(
  processor: Processor,
  { charge: chargeId, amount, reason, metadata }: NewRefund,
): Stripe.Refund {
  const charge = processor.charges.get(chargeId, { param: 'charge', status: 400 });
  const left = charge.amount - charge.amount_refunded;
  const wanted = amount ?? left;
  if (charge.status !== 'succeeded') throw invalid(`The charge ${chargeId} was not paid.`, { param: 'charge' });
  if (left === 0)
    throw invalid(`Charge ${chargeId} has already been refunded.`, {
      code: 'charge_already_refunded',
      param: 'charge',
    });
  if (isDisputed(processor, chargeId))
    throw invalid(`Charge ${chargeId} has been charged back; cannot issue a refund.`, {
      code: 'charge_disputed',
      param: 'charge',
    });
  if (wanted < 1) throw invalid('This value must be greater than or equal to 1.', { param: 'amount' });
  if (wanted > left)
    throw invalid(`Refund amount (${wanted}) is greater than unrefunded amount on charge (${left})`, {
      param: 'amount',
    });
  const id = processor.newId('re');
  const transaction = addBalanceTransaction(processor, {
    type: 'refund',
    category: 'refund',
    currency: charge.currency,
    amount: -wanted,
    source: id,
    description: 'REFUND FOR CHARGE',
  });
  const isLater = processor.knobs.refundDelayMs > 0;
  const refund = processor.refunds.add({
    id,
    object: 'refund',
    amount: wanted,
    balance_transaction: transaction.id,
    charge: chargeId,
    created: processor.now(),
    currency: charge.currency,
    customer: charge.customer,
    customer_account: null,
    metadata: metadata ?? {},
    payment_intent: charge.payment_intent,
    payment_method: charge.payment_method,
    reason: reason ?? null,
    receipt_number: null,
    source_transfer_reversal: null,
    status: isLater ? 'pending' : 'succeeded',
    transfer_reversal: null,
  });
  const refunded = changeRefunded(processor, charge, wanted);
  processor.emit('refund.created', refund);
  processor.emit('charge.refunded', refunded);
  if (isLater) succeedLater(processor, id);
  return refund;
}

/** Ends a pending refund after a while. */
export function succeedLater(processor: Processor, id: string): void {
  processor.later(processor.knobs.refundDelayMs, () => {
    if (processor.refunds.get(id).status !== 'pending') return;
    const done = processor.refunds.update(id, { status: 'succeeded' });
    processor.emit('refund.updated', done, { status: 'pending' });
    processor.emit('charge.refund.updated', done, { status: 'pending' });
  });
}

/** Fails a refund, as the cardholder's bank may do days later. The money comes back to the seller. */
export function failRefund(processor: Processor, id: string): Stripe.Refund {
  const refund = processor.refunds.get(id);
  if (refund.status === 'failed') throw invalid(`The refund ${id} has already failed.`);
  const charge = processor.charges.get(idOf(refund.charge ?? ''));
  const transaction = addBalanceTransaction(processor, {
    type: 'refund_failure',
    category: 'refund_failure',
    currency: refund.currency,
    amount: refund.amount,
    source: id,
    description: 'REFUND FAILURE',
  });
  const failed = processor.refunds.update(id, {
    status: 'failed',
    failure_reason: 'lost_or_stolen_card',
    failure_balance_transaction: transaction.id,
  });
  changeRefunded(processor, charge, -refund.amount);
  processor.emit('refund.updated', failed, { status: refund.status });
  processor.emit('refund.failed', failed);
  processor.emit('charge.refund.updated', failed, { status: refund.status });
  return failed;
}

function changeRefunded(
  processor: Processor,
  { id, amount, amount_refunded: before }: Stripe.Charge,
  by: number,
): Stripe.Charge {
  const after = before + by;
  return processor.charges.update(id, { amount_refunded: after, refunded: after === amount });
}

/** A charge stays disputed after its dispute is lost. A won dispute and an inquiry do not hinder a refund. */
const isDisputed = (processor: Processor, charge: string): boolean =>
  processor.disputes
    .list()
    .some((each) => each.charge === charge && each.status !== 'won' && !each.status.startsWith('warning_'));
