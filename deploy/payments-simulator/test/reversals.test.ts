import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { payAt, type TEST_CARDS } from '@turnpike/test-support/payAt';
import { until } from '@turnpike/test-support/until';
import type Stripe from 'stripe';
import { aTopUp, TestSimulator } from './support/testSimulator.ts';

const simulator = new TestSimulator();
beforeAll(() => simulator.start());
afterAll(() => simulator.close());

/** A paid top-up of €25 and 23 % VAT. */
async function paid(card: keyof typeof TEST_CARDS = 'pays') {
  const { stripe } = simulator;
  const { id: customer } = await stripe.customers.create({ address: { country: 'IE' } });
  const { id, url } = await stripe.checkout.sessions.create(aTopUp(customer));
  await payAt(url ?? '', { card });
  const { session, invoice } = await simulator.untilInvoiced(id);
  const intent = session.payment_intent as Stripe.PaymentIntent;
  return { customer, invoice, intent: intent.id, charge: (intent.latest_charge as Stripe.Charge).id };
}
const balanceOf = async (source: string) => {
  const { data } = await simulator.stripe.balanceTransactions.list({ source });
  return data.map(({ type, amount, fee }) => ({ type, amount, fee }));
};
const typesOf = async (object: string) => {
  await simulator.untilDelivered();
  return simulator.receiver.typesOf(object);
};

it('credits a part of an invoice, refunds it and mirrors its tax', async () => {
  const { invoice, charge } = await paid();
  const [line] = invoice.lines.data;
  const params: Stripe.CreditNoteCreateParams = {
    invoice: invoice.id,
    lines: [{ type: 'invoice_line_item', invoice_line_item: line?.id ?? '', amount: 1_000 }],
    refund_amount: 1_230,
    metadata: { reversal_id: 'r1' },
  };
  const note = await simulator.stripe.creditNotes.create(params, { idempotencyKey: 'r1' });
  expect(note).toMatchObject({
    number: `${invoice.number}-CN-01`,
    subtotal: 1_000,
    total: 1_230,
    status: 'issued',
    type: 'post_payment',
    total_taxes: [{ amount: 230, taxability_reason: 'standard_rated' }],
    refunds: [{ amount_refunded: 1_230, refund: expect.stringMatching(/^re_/) }],
  });
  expect((await simulator.stripe.creditNotes.create(params, { idempotencyKey: 'r1' })).id).toBe(note.id);
  expect(await simulator.stripe.charges.retrieve(charge)).toMatchObject({ amount_refunded: 1_230, refunded: false });
  const refund = String(note.refunds[0]?.refund);
  expect(await simulator.stripe.refunds.retrieve(refund)).toMatchObject({ status: 'succeeded', amount: 1_230, charge });
  expect(await balanceOf(refund)).toEqual([{ type: 'refund', amount: -1_230, fee: 0 }]);
  expect(await typesOf(refund)).toEqual(['refund.created']);
  expect(await typesOf(note.id)).toEqual(['credit_note.created']);
  expect(await (await fetch(note.pdf)).text()).toContain(`For invoice ${invoice.number}`);
});

it('credits an invoice in parts whose net and tax add up to the whole', async () => {
  const { invoice, charge } = await paid();
  for (const amount of [1_001, 1_002, 1_072])
    await simulator.stripe.creditNotes.create({ invoice: invoice.id, amount, refund_amount: amount });
  const { data } = await simulator.stripe.creditNotes.list({ invoice: invoice.id });
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  expect(sum(data.map(({ subtotal }) => subtotal))).toBe(2_500);
  expect(sum(data.flatMap(({ total_taxes: taxes }) => (taxes ?? []).map(({ amount }) => amount)))).toBe(575);
  expect(await simulator.stripe.charges.retrieve(charge)).toMatchObject({ amount_refunded: 3_075, refunded: true });
  await expect(
    simulator.stripe.creditNotes.create({ invoice: invoice.id, amount: 1, refund_amount: 1 }),
  ).rejects.toMatchObject({ statusCode: 400 });
});

it.each([
  ['more than was paid', 3_076, 3_076],
  ['less refund than credit', 1_000, 900],
])('refuses a credit note over %s, and moves no money', async (_case, amount, refundAmount) => {
  const { invoice, charge } = await paid();
  const params = { invoice: invoice.id, amount, refund_amount: refundAmount };
  await expect(simulator.stripe.creditNotes.create(params)).rejects.toMatchObject({ statusCode: 400 });
  expect((await simulator.stripe.refunds.list({ charge })).data).toEqual([]);
  expect((await simulator.stripe.creditNotes.list({ invoice: invoice.id })).data).toEqual([]);
});

it('shows a credit note before it is made', async () => {
  const { invoice } = await paid();
  const preview = await simulator.stripe.creditNotes.preview({
    invoice: invoice.id,
    amount: 3_075,
    refund_amount: 3_075,
  });
  expect(preview).toMatchObject({ subtotal: 2_500, total: 3_075 });
  expect((await simulator.stripe.creditNotes.list({ invoice: invoice.id })).data).toEqual([]);
});

it('refunds a payment once, and gives the money back when the refund fails', async () => {
  const { charge, intent } = await paid();
  const refund = await simulator.stripe.refunds.create({ payment_intent: intent });
  expect(refund).toMatchObject({ amount: 3_075, status: 'succeeded', charge });
  await expect(simulator.stripe.refunds.create({ charge })).rejects.toMatchObject({ code: 'charge_already_refunded' });
  await simulator.order('POST', `refunds/${refund.id}/fail`);
  expect(await simulator.stripe.refunds.retrieve(refund.id)).toMatchObject({ status: 'failed' });
  expect(await simulator.stripe.charges.retrieve(charge)).toMatchObject({ amount_refunded: 0, refunded: false });
  expect((await balanceOf(refund.id)).map(({ amount }) => amount)).toEqual([3_075, -3_075]);
  expect(await typesOf(refund.id)).toContain('refund.failed');
});

it('keeps a refund pending for a while', async () => {
  await simulator.order('POST', 'config', { refundDelayMs: 50 });
  const { charge } = await paid();
  const { id, status } = await simulator.stripe.refunds.create({ charge });
  expect(status).toBe('pending');
  await until('the refund', async () => (await simulator.stripe.refunds.retrieve(id)).status === 'succeeded');
  await simulator.order('POST', 'config', { refundDelayMs: 0 });
});

it('withdraws a disputed charge, and reinstates it when the seller wins', async () => {
  const { charge } = await paid('isDisputed');
  const { data } = await simulator.stripe.disputes.list({ charge });
  const dispute = data[0] as Stripe.Dispute;
  expect(dispute).toMatchObject({ amount: 3_075, status: 'needs_response', reason: 'fraudulent' });
  expect(await balanceOf(dispute.id)).toEqual([{ type: 'adjustment', amount: -3_075, fee: 2_000 }]);
  await expect(simulator.stripe.refunds.create({ charge })).rejects.toMatchObject({ code: 'charge_disputed' });
  const won = await simulator.stripe.disputes.update(dispute.id, {
    evidence: { uncategorized_text: 'winning_evidence' },
  });
  expect(won.status).toBe('won');
  expect((await balanceOf(dispute.id)).map(({ amount }) => amount)).toEqual([3_075, -3_075]);
  expect(await typesOf(dispute.id)).toEqual(
    expect.arrayContaining([
      'charge.dispute.created',
      'charge.dispute.funds_withdrawn',
      'charge.dispute.closed',
      'charge.dispute.funds_reinstated',
    ]),
  );
  await expect(simulator.order('POST', `disputes/${dispute.id}/lose`)).rejects.toThrow('is won');
});

it('loses a dispute about a part for good', async () => {
  const { charge } = await paid();
  const { id } = await simulator.order<{ id: string }>('POST', 'disputes', { charge, amount: 1_000 });
  expect(await simulator.stripe.disputes.close(id)).toMatchObject({ status: 'lost', amount: 1_000 });
  expect((await balanceOf(id)).map(({ amount }) => amount)).toEqual([-1_000]);
  expect(await typesOf(id)).not.toContain('charge.dispute.funds_reinstated');
});

it('moves no money for an inquiry until it is escalated', async () => {
  const { charge } = await paid();
  const order = (path: string) => simulator.order<Stripe.Dispute>('POST', path, { charge, inquiry: true });
  const { id, status } = await order('disputes');
  expect([status, await balanceOf(id)]).toEqual(['warning_needs_response', []]);
  expect(await simulator.order('POST', `disputes/${id}/escalate`)).toMatchObject({ status: 'needs_response' });
  expect((await balanceOf(id)).map(({ amount }) => amount)).toEqual([-3_075]);
});

it('reports a charge as fraud, which moves no money', async () => {
  const { charge } = await paid();
  const { id } = await simulator.order<{ id: string }>('POST', `charges/${charge}/fraud-warning`);
  expect(await simulator.stripe.radar.earlyFraudWarnings.retrieve(id)).toMatchObject({ actionable: true, charge });
  expect(await typesOf(id)).toEqual(['radar.early_fraud_warning.created']);
  expect((await simulator.stripe.charges.retrieve(charge)).disputed).toBe(false);
});

it('pays a part of the balance out, as a movement of its own', async () => {
  const { source } = await simulator.order<{ source: string }>('POST', 'payouts', { currency: 'usd', amount: 1_000 });
  expect(await balanceOf(source)).toEqual([{ type: 'payout', amount: -1_000, fee: 0 }]);
});

it('has a balance that its transactions explain', async () => {
  const truth = await simulator.order<{ currencies: { eur: Record<string, number> } }>('GET', 'truth');
  const { charged = 0, refunded = 0, lost = 0, disputed_open: disputed = 0, fees = 0, balance } = truth.currencies.eur;
  expect(balance).toBe(charged - refunded - lost - disputed - fees);
  const amounts: number[] = [];
  for await (const { amount, fee, net } of simulator.stripe.balanceTransactions.list({ currency: 'eur', limit: 100 })) {
    expect(net).toBe(amount - fee);
    amounts.push(net);
  }
  expect(amounts.reduce((total, net) => total + net, 0)).toBe(balance);
});
