import type { Stripe } from 'stripe';
import { invalid } from '../api/apiFault.ts';
import type { Processor } from '../state/processor.ts';
import { idOf } from '../state/values.ts';
import { addBalanceTransaction, DISPUTE_FEE_CENTS } from './balance.ts';

const DUE_SECONDS = 14 * 24 * 3_600;

interface NewDispute {
  charge: string;
  /** All that is not refunded if absent. */
  amount?: number | undefined;
  reason?: string | undefined;
  /** An inquiry moves no money. */
  isInquiry?: boolean | undefined;
}

/** Opens a dispute about a charge, as the cardholder's bank does. Takes the money at once unless it is an inquiry. */
export function openDispute(
  processor: Processor,
  { charge: chargeId, amount, reason, isInquiry = false }: NewDispute,
): Stripe.Dispute {
  const charge = processor.charges.get(chargeId);
  const disputable = charge.amount - charge.amount_refunded;
  const disputed = amount ?? disputable;
  if (charge.status !== 'succeeded' || disputed < 1 || disputed > disputable)
    throw invalid(`The charge ${chargeId} cannot be disputed over ${disputed} cents: ${disputable} are left.`);
  if (charge.disputed) throw invalid(`The charge ${chargeId} is already disputed.`);
  const dispute = processor.disputes.add({
    id: processor.newId('dp'),
    object: 'dispute',
    amount: disputed,
    balance_transactions: [],
    charge: chargeId,
    created: processor.now(),
    currency: charge.currency,
    enhanced_eligibility_types: [],
    evidence: NO_EVIDENCE,
    evidence_details: {
      due_by: processor.now() + DUE_SECONDS,
      enhanced_eligibility: {},
      has_evidence: false,
      past_due: false,
      submission_count: 0,
      submission_method: 'not_submitted',
    },
    intended_submission_method: 'manual',
    is_charge_refundable: isInquiry,
    livemode: false,
    metadata: {},
    network_reason_code: '10.4',
    payment_intent: charge.payment_intent,
    payment_method_details: {
      card: {
        brand: 'visa',
        case_type: isInquiry ? 'inquiry' : 'chargeback',
        network: 'visa',
        network_reason_code: '10.4',
      },
      type: 'card',
    },
    reason: reason ?? 'fraudulent',
    status: isInquiry ? 'warning_needs_response' : 'needs_response',
  });
  processor.charges.update(chargeId, { disputed: true });
  processor.emit('charge.dispute.created', dispute);
  return isInquiry ? dispute : withdraw(processor, dispute);
}

/** Makes an inquiry a dispute that takes the money. */
export function escalateDispute(processor: Processor, id: string): Stripe.Dispute {
  requireStatus(processor, id, ['warning_needs_response', 'warning_under_review']);
  const dispute = processor.disputes.update(id, { status: 'needs_response', is_charge_refundable: false });
  processor.emit('charge.dispute.updated', dispute);
  return withdraw(processor, dispute);
}

/** Sends the seller's evidence to the bank. */
export function reviewDispute(processor: Processor, id: string, text: string | null): Stripe.Dispute {
  const {
    status,
    evidence,
    evidence_details: details,
  } = requireStatus(processor, id, ['needs_response', 'warning_needs_response']);
  const dispute = processor.disputes.update(id, {
    status: status === 'needs_response' ? 'under_review' : 'warning_under_review',
    evidence: { ...evidence, uncategorized_text: text },
    evidence_details: { ...details, has_evidence: true, submission_count: 1, submission_method: 'manual' },
  });
  processor.emit('charge.dispute.updated', dispute);
  return dispute;
}

/** Ends a dispute. `won` gives the money back, without the fee. An inquiry that is `won` ends as `warning_closed`. */
export function closeDispute(processor: Processor, id: string, outcome: 'won' | 'lost'): Stripe.Dispute {
  const { status } = requireStatus(processor, id, [
    'needs_response',
    'under_review',
    'warning_needs_response',
    'warning_under_review',
  ]);
  const isInquiry = status.startsWith('warning_');
  if (isInquiry && outcome === 'lost') throw invalid('An inquiry cannot be lost: escalate it first.');
  const closed = processor.disputes.update(id, { status: isInquiry ? 'warning_closed' : outcome });
  if (isInquiry) {
    processor.charges.update(idOf(closed.charge), { disputed: false });
    processor.emit('charge.dispute.closed', closed);
    return closed;
  }
  if (outcome === 'lost') {
    processor.emit('charge.dispute.closed', closed);
    return closed;
  }
  const transaction = addBalanceTransaction(processor, {
    type: 'adjustment',
    category: 'dispute_reversal',
    currency: closed.currency,
    amount: closed.amount,
    source: closed.id,
    description: `Chargeback reversal for ${idOf(closed.charge)}`,
  });
  const won = processor.disputes.update(id, {
    balance_transactions: [...closed.balance_transactions, transaction],
  });
  processor.emit('charge.dispute.closed', won);
  processor.emit('charge.dispute.funds_reinstated', won);
  return won;
}

function withdraw(processor: Processor, dispute: Stripe.Dispute): Stripe.Dispute {
  const transaction = addBalanceTransaction(processor, {
    type: 'adjustment',
    category: 'dispute',
    currency: dispute.currency,
    amount: -dispute.amount,
    fee: DISPUTE_FEE_CENTS,
    source: dispute.id,
    description: `Chargeback withdrawal for ${idOf(dispute.charge)}`,
  });
  const taken = processor.disputes.update(dispute.id, {
    balance_transactions: [...dispute.balance_transactions, transaction],
  });
  processor.emit('charge.dispute.funds_withdrawn', taken);
  return taken;
}

function requireStatus(processor: Processor, id: string, statuses: string[]): Stripe.Dispute {
  const dispute = processor.disputes.get(id);
  if (!statuses.includes(dispute.status))
    throw invalid(`The dispute ${id} is ${dispute.status}.`, { code: 'dispute_already_closed' });
  return dispute;
}

/** Reports a charge as fraud, as the cardholder's bank does before a dispute. Moves no money. */
export function warnOfFraud(processor: Processor, chargeId: string): Stripe.Radar.EarlyFraudWarning {
  const charge = processor.charges.get(chargeId);
  const warning = processor.earlyFraudWarnings.add({
    id: processor.newId('issfr'),
    object: 'radar.early_fraud_warning',
    actionable: true,
    charge: chargeId,
    created: processor.now(),
    fraud_type: 'unauthorized_use_of_card',
    livemode: false,
    ...(charge.payment_intent !== null && { payment_intent: charge.payment_intent }),
  });
  processor.emit('radar.early_fraud_warning.created', warning);
  return warning;
}

const NO_EVIDENCE: Stripe.Dispute.Evidence = {
  access_activity_log: null,
  billing_address: null,
  cancellation_policy: null,
  cancellation_policy_disclosure: null,
  cancellation_rebuttal: null,
  customer_communication: null,
  customer_email_address: null,
  customer_name: null,
  customer_purchase_ip: null,
  customer_signature: null,
  duplicate_charge_documentation: null,
  duplicate_charge_explanation: null,
  duplicate_charge_id: null,
  enhanced_evidence: {},
  product_description: null,
  receipt: null,
  refund_policy: null,
  refund_policy_disclosure: null,
  refund_refusal_explanation: null,
  service_date: null,
  service_documentation: null,
  shipping_address: null,
  shipping_carrier: null,
  shipping_date: null,
  shipping_documentation: null,
  shipping_tracking_number: null,
  uncategorized_file: null,
  uncategorized_text: null,
};
