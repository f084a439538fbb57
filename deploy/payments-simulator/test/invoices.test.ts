import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { payAt, type TEST_CARDS } from '@turnpike/test-support/payAt';
import { until } from '@turnpike/test-support/until';
import type Stripe from 'stripe';
import { aTopUp, TestSimulator } from './support/testSimulator.ts';

const simulator = new TestSimulator();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-payments-'));
  await simulator.start({ file: join(folder, 'state.jsonl') });
});
afterAll(async () => {
  await simulator.close();
  await rm(folder, { recursive: true });
});

/** A customer whose card was saved by a first payment. */
async function aSavedCard(card: keyof typeof TEST_CARDS = 'pays', country = 'IE'): Promise<string> {
  const { stripe } = simulator;
  const { id } = await stripe.customers.create({ address: { country } });
  const { url } = await stripe.checkout.sessions.create(aTopUp(id));
  await payAt(url ?? '', { card });
  const { data } = await stripe.customers.listPaymentMethods(id, { type: 'card' });
  await stripe.customers.update(id, { invoice_settings: { default_payment_method: data[0]?.id ?? '' } });
  return id;
}

/** An automatic top-up up to its finalization. */
async function finalized(customer: string, net = 2_500): Promise<Stripe.Invoice> {
  const { stripe } = simulator;
  const draft = await stripe.invoices.create({
    customer,
    currency: 'eur',
    auto_advance: false,
    automatic_tax: { enabled: true },
    collection_method: 'charge_automatically',
    metadata: { top_up_id: 'auto' },
  });
  await stripe.invoiceItems.create({
    customer,
    invoice: draft.id,
    amount: net,
    currency: 'eur',
    description: 'API credit',
    tax_behavior: 'exclusive',
    tax_code: 'txcd_10105001',
  });
  return stripe.invoices.finalizeInvoice(draft.id, { auto_advance: false });
}
const pay = (id: string) => simulator.stripe.invoices.pay(id, { off_session: true });

it('charges a saved card without its holder, by an invoice with tax', async () => {
  const open = await finalized(await aSavedCard());
  expect(open).toMatchObject({ status: 'open', subtotal: 2_500, total: 3_075, amount_due: 3_075, amount_paid: 0 });
  const paid = await simulator.stripe.invoices.pay(open.id, {
    off_session: true,
    expand: ['payments.data.payment.payment_intent'],
  });
  expect(paid).toMatchObject({
    status: 'paid',
    number: open.number,
    amount_paid: 3_075,
    metadata: { top_up_id: 'auto' },
    payments: {
      data: [{ status: 'paid', payment: { payment_intent: { status: 'succeeded', amount: 3_075, metadata: {} } } }],
    },
  });
  await expect(pay(open.id)).rejects.toMatchObject({ message: 'Invoice is already paid' });
});

it.each([
  ['isDeclinedLater', 'card_declined'],
  ['asksAlways', 'authentication_required'],
] as const)('refuses the charge of a card that %s, and lets the invoice be voided', async (card, code) => {
  const open = await finalized(await aSavedCard(card));
  const refusal = await pay(open.id).catch((error: unknown) => error);
  expect(refusal).toMatchObject({
    type: 'StripeCardError',
    statusCode: 402,
    code,
    payment_intent: { status: 'requires_payment_method' },
  });
  expect(await simulator.stripe.invoices.retrieve(open.id)).toMatchObject({ status: 'open', attempt_count: 1 });
  expect(await simulator.stripe.invoices.voidInvoice(open.id)).toMatchObject({ status: 'void', number: open.number });
  await expect(pay(open.id)).rejects.toMatchObject({ statusCode: 400 });
  const { payment_intent: intent } = refusal as { payment_intent: Stripe.PaymentIntent };
  expect((await simulator.stripe.paymentIntents.retrieve(intent.id)).status).toBe('canceled');
});

it('lets the customer pay an open invoice on its page, once, after the bank has asked', async () => {
  const open = await finalized(await aSavedCard('asksAlways'));
  await expect(pay(open.id)).rejects.toMatchObject({ code: 'authentication_required' });
  const page = open.hosted_invoice_url ?? '';
  expect(await payAt(page, { card: 'isDeclined' })).toMatchObject({ status: 402 });
  expect(await payAt(page, { card: 'asksAlways', bank: 'refuse' })).toMatchObject({ status: 402 });
  expect((await simulator.stripe.invoices.retrieve(open.id)).status).toBe('open');
  await payAt(page, { card: 'asksAlways' });
  expect(await simulator.stripe.invoices.retrieve(open.id)).toMatchObject({
    ...{ status: 'paid', number: open.number, amount_paid: 3_075 },
  });
  expect(await payAt(page, { card: 'pays' })).toMatchObject({ status: 400 });
});

it('cannot charge a customer without a card', async () => {
  const { id } = await simulator.stripe.customers.create({ address: { country: 'IE' } });
  await expect(pay((await finalized(id)).id)).rejects.toMatchObject({ statusCode: 400 });
});

/** Waits for the invoices of all sessions that were paid, which come a moment later. */
const allInvoiced = () =>
  until('the invoices of all sessions', async () => {
    const { data } = await simulator.stripe.checkout.sessions.list({ limit: 100, status: 'complete' });
    return data.every(({ invoice }) => invoice !== null);
  });

it('numbers invoices when they are finalized, without gaps, whatever becomes of drafts and declines', async () => {
  const customer = await aSavedCard();
  const drafts = await Promise.all(
    [1, 2, 3].map(() => simulator.stripe.invoices.create({ customer, currency: 'eur' })),
  );
  expect(drafts.map(({ number }) => number)).toEqual([null, null, null]);
  await Promise.all(drafts.map(({ id }) => simulator.stripe.invoices.del(id)));
  await Promise.all(Array.from({ length: 10 }, () => finalized(customer)));
  await allInvoiced();
  const { numbers } = await simulator.order<{ numbers: string[] }>('GET', 'truth');
  expect(numbers).toEqual(numbers.map((_number, index) => `TURN-${String(index + 1).padStart(4, '0')}`));
});

it('keeps a final invoice as it is when its customer changes', async () => {
  const customer = await aSavedCard();
  const { id } = await finalized(customer);
  await simulator.stripe.customers.update(customer, { address: { country: 'DE' }, name: 'Another name' });
  expect(await simulator.stripe.invoices.retrieve(id)).toMatchObject({
    total: 3_075,
    customer_address: { country: 'IE' },
  });
  await expect(
    simulator.stripe.invoiceItems.create({ customer, invoice: id, amount: 1, currency: 'eur' }),
  ).rejects.toMatchObject({ code: 'invoice_not_editable' });
});

it('shows the tax before paying', async () => {
  const { id } = await simulator.stripe.customers.create({ address: { country: 'DE' } });
  await allInvoiced();
  const before = await simulator.order<{ numbers: string[] }>('GET', 'truth');
  const preview = await simulator.stripe.invoices.createPreview({
    customer: id,
    currency: 'eur',
    automatic_tax: { enabled: true },
    invoice_items: [{ amount: 2_500, description: 'API credit', tax_behavior: 'exclusive', tax_code: 'txcd_10105001' }],
  });
  expect(preview).toMatchObject({ subtotal: 2_500, total: 2_975, number: null });
  expect(await simulator.order('GET', 'truth')).toEqual(before);
});

it.each([
  ['DE123456100', 'verified'],
  ['DE123456200', 'unverified'],
  ['DE123456999', 'unavailable'],
])('gives the verdict about %s after a moment: %s', async (value, status) => {
  const { stripe } = simulator;
  const { id } = await stripe.customers.create({ address: { country: 'DE' } });
  const taxId = await stripe.customers.createTaxId(id, { type: 'eu_vat', value });
  expect(taxId.verification?.status).toBe('pending');
  await until('the verdict', async () => {
    const { verification } = await stripe.customers.retrieveTaxId(id, taxId.id);
    return verification?.status === status;
  });
  await until('its event', () => simulator.receiver.typesOf(taxId.id).includes('customer.tax_id.updated'));
  // The processor makes a sale reverse charge by any tax id that looks right, until it is taken off.
  expect((await finalized(id)).total).toBe(2_500);
  await stripe.customers.deleteTaxId(id, taxId.id);
  expect((await finalized(id)).total).toBe(2_975);
});

it('refuses what is no VAT id', async () => {
  const { id } = await simulator.stripe.customers.create({});
  await expect(simulator.stripe.customers.createTaxId(id, { type: 'eu_vat', value: '100' })).rejects.toMatchObject({
    code: 'tax_id_invalid',
  });
});

it('shows its tax settings and registrations, and taxes by them', async () => {
  const { stripe } = simulator;
  expect(await stripe.accounts.retrieveCurrent()).toMatchObject({ country: 'IE', charges_enabled: true });
  expect(await stripe.tax.settings.retrieve()).toMatchObject({
    status: 'active',
    head_office: { address: { country: 'IE' } },
  });
  expect((await stripe.tax.registrations.list({ status: 'active' })).data.map(({ country }) => country)).toEqual([
    'IE',
    'IE',
  ]);
  const { id } = await stripe.customers.create({ address: { country: 'US', state: 'TX', postal_code: '73301' } });
  expect((await finalized(id)).total).toBe(2_500);
  const texas = await stripe.tax.registrations.create({
    active_from: 'now',
    country: 'US',
    country_options: { us: { type: 'state_sales_tax', state: 'TX' } },
  });
  expect((await finalized(id)).total).toBe(2_706);
  await stripe.tax.registrations.update(texas.id, { expires_at: 'now' });
  expect((await finalized(id)).total).toBe(2_500);

  await simulator.order('POST', 'settings', { tax_status: 'pending' });
  expect((await stripe.tax.settings.retrieve()).status).toBe('pending');
  await expect(stripe.checkout.sessions.create(aTopUp(id))).rejects.toMatchObject({ statusCode: 400 });
  await simulator.order('POST', 'settings', { tax_status: 'active' });
});

it('lets a customer change the address and the card in the portal, but no tax id where that is left out', async () => {
  const { stripe } = simulator;
  const customer = await aSavedCard();
  const configuration = await stripe.billingPortal.configurations.create({
    features: {
      customer_update: { enabled: true, allowed_updates: ['address'] },
      invoice_history: { enabled: true },
      payment_method_update: { enabled: true },
    },
  });
  const { url } = await stripe.billingPortal.sessions.create({
    customer,
    configuration: configuration.id,
    return_url: 'http://localhost:9/billing',
  });
  const send = async (fields: Record<string, string>) =>
    (await fetch(url, { method: 'POST', redirect: 'manual', body: new URLSearchParams(fields) })).status;
  expect(await send({ action: 'address', country: 'FR', postal_code: '75001' })).toBe(303);
  expect(await send({ action: 'add', card: '4000000000000341' })).toBe(303);
  expect(await send({ action: 'tax_id', tax_id: 'FR12345678100' })).toBe(403);
  expect(
    await stripe.customers.retrieve(customer, { expand: ['tax_ids', 'invoice_settings.default_payment_method'] }),
  ).toMatchObject({
    address: { country: 'FR' },
    tax_ids: { data: [] },
    invoice_settings: { default_payment_method: { card: { last4: '0341' } } },
  });
  const page = await (await fetch(url)).text();
  expect(page).toContain('http://localhost:9/billing');
  expect(page).not.toContain('name="tax_id"');
});

it('has everything again after a restart, replays its keys, and goes on with what was pending', async () => {
  const { stripe } = simulator;
  await simulator.order('POST', 'config', { invoiceDelayMs: 60_000 });
  const { id: customer } = await stripe.customers.create({ address: { country: 'IE' } }, { idempotencyKey: 'restart' });
  const { id, url } = await stripe.checkout.sessions.create(aTopUp(customer));
  await payAt(url ?? '');
  expect((await stripe.checkout.sessions.retrieve(id)).invoice).toBeNull();
  const { charges } = await simulator.order<{ charges: object[] }>('GET', 'log');

  await simulator.restart();
  const { invoice } = await simulator.untilInvoiced(id);
  expect(invoice).toMatchObject({ status: 'paid', total: 3_075 });
  const again = await stripe.customers.create({ address: { country: 'IE' } }, { idempotencyKey: 'restart' });
  expect(again.id).toBe(customer);
  expect((await simulator.order<{ charges: object[] }>('GET', 'log')).charges).toEqual(charges);
});
