import type { Stripe } from 'stripe';
import { z } from 'zod';
import { addCreditNote, buildCreditNote, type NewCreditNote } from '../payments/creditNotes.ts';
import { closeDispute, reviewDispute } from '../payments/disputes.ts';
import { addRefund } from '../payments/refunds.ts';
import type { Processor } from '../state/processor.ts';
import { idOf } from '../state/values.ts';
import { invalid } from './apiFault.ts';
import { isWithin, toPage } from './lists.ts';
import * as p from './params.ts';
import { type Route, route } from './route.ts';

const noParams = z.strictObject({});
const refundParams = p.paramsOf<Stripe.RefundCreateParams>()({
  amount: p.integer.optional(),
  charge: p.text.optional(),
  metadata: p.metadata.optional(),
  payment_intent: p.text.optional(),
  reason: p.oneOf('duplicate', 'fraudulent', 'requested_by_customer').optional(),
});
const creditNoteParams = p.paramsOf<Stripe.CreditNoteCreateParams>()({
  amount: p.integer.optional(),
  email_type: p.oneOf('none', 'credit_note').optional(),
  invoice: p.text,
  lines: p
    .listOf(
      p.paramsOf<Stripe.CreditNoteCreateParams.Line>()({
        amount: p.integer,
        invoice_line_item: p.text,
        type: p.oneOf('invoice_line_item'),
      }),
    )
    .optional(),
  memo: p.text.optional(),
  metadata: p.metadata.optional(),
  out_of_band_amount: p.integer.default(0),
  reason: p.oneOf('duplicate', 'fraudulent', 'order_change', 'product_unsatisfactory').optional(),
  refund_amount: p.integer.default(0),
});
const listParams = z.strictObject({
  ...p.pagination,
  charge: p.text.optional(),
  created: p.createdRange,
  payment_intent: p.text.optional(),
});
const disputeParams = p.paramsOf<Stripe.DisputeUpdateParams>()({
  evidence: p.paramsOf<Stripe.DisputeUpdateParams.Evidence>()({ uncategorized_text: p.text.optional() }).optional(),
  metadata: p.metadata.optional(),
  submit: p.boolean.default(true),
});

const toNewCreditNote = (params: z.output<typeof creditNoteParams>): NewCreditNote => ({
  invoice: params.invoice,
  amount: params.amount,
  lines: params.lines?.map(({ amount, invoice_line_item: invoiceLineItem }) => ({ amount, invoiceLineItem })),
  refundAmount: params.refund_amount,
  outOfBandAmount: params.out_of_band_amount,
  reason: params.reason ?? null,
  memo: params.memo ?? null,
  metadata: params.metadata ?? {},
});

interface Reversal {
  charge: string | { id: string } | null;
  payment_intent: string | { id: string } | null;
  created: number;
}

const toFilter =
  ({ charge, payment_intent: intent, created }: Omit<z.output<typeof listParams>, 'limit'>) =>
  (each: Reversal): boolean =>
    (charge === undefined || idOf(each.charge ?? '') === charge) &&
    (intent === undefined || idOf(each.payment_intent ?? '') === intent) &&
    isWithin(each.created, created);

function toCharge(processor: Processor, charge: string | undefined, intent: string | undefined): string {
  if (charge !== undefined) return charge;
  if (intent === undefined)
    throw invalid('One of the following params should be provided for this request: payment_intent or charge.');
  const { latest_charge: latest } = processor.paymentIntents.get(intent, { param: 'payment_intent', status: 400 });
  if (latest === null)
    throw invalid('This PaymentIntent does not have a successful charge to refund.', {
      code: 'payment_intent_unexpected_state',
    });
  return idOf(latest);
}

/** Routes of what takes a payment back: refunds, credit notes, disputes. */
export const REVERSAL_ROUTES: Route[] = [
  route('POST /v1/refunds', refundParams, (processor, { charge, payment_intent: intent, amount, reason, metadata }) =>
    addRefund(processor, { charge: toCharge(processor, charge, intent), amount, reason, metadata: metadata ?? {} }),
  ),
  route('GET /v1/refunds/{id}', noParams, (processor, _params, id) => processor.refunds.get(id)),
  route('GET /v1/refunds', listParams, (processor, params) =>
    toPage(processor.refunds.list(), params, '/v1/refunds', toFilter(params)),
  ),
  route('POST /v1/credit_notes', creditNoteParams, (processor, params) =>
    addCreditNote(processor, toNewCreditNote(params)),
  ),
  route('GET /v1/credit_notes/preview', creditNoteParams, (processor, params) =>
    buildCreditNote(processor, toNewCreditNote(params)),
  ),
  route('GET /v1/credit_notes/{id}', noParams, (processor, _params, id) => processor.creditNotes.get(id)),
  route(
    'GET /v1/credit_notes',
    p.paramsOf<Stripe.CreditNoteListParams>()({
      ...p.pagination,
      created: p.createdRange,
      customer: p.text.optional(),
      invoice: p.text.optional(),
    }),
    (processor, { created, customer, invoice, ...page }) =>
      toPage(
        processor.creditNotes.list(),
        page,
        '/v1/credit_notes',
        (each) =>
          (customer === undefined || idOf(each.customer) === customer) &&
          (invoice === undefined || idOf(each.invoice) === invoice) &&
          isWithin(each.created, created),
      ),
  ),
  route('GET /v1/disputes/{id}', noParams, (processor, _params, id) => processor.disputes.get(id)),
  route('GET /v1/disputes', listParams, (processor, params) =>
    toPage(processor.disputes.list(), params, '/v1/disputes', toFilter(params)),
  ),
  route('POST /v1/disputes/{id}', disputeParams, (processor, { evidence, metadata, submit }, id) => {
    const dispute = processor.disputes.get(id);
    processor.disputes.update(id, { metadata: p.mergeMetadata(dispute.metadata, metadata) });
    if (evidence === undefined || !submit) return processor.disputes.get(id);
    const reviewed = reviewDispute(processor, id, evidence.uncategorized_text ?? null);
    // The processor's own words for a test that wants a verdict.
    if (evidence.uncategorized_text === 'winning_evidence') return closeDispute(processor, id, 'won');
    if (evidence.uncategorized_text === 'losing_evidence') return closeDispute(processor, id, 'lost');
    return reviewed;
  }),
  route('POST /v1/disputes/{id}/close', noParams, (processor, _params, id) => closeDispute(processor, id, 'lost')),
];
