import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { payAt } from '@turnpike/test-support/payAt';
import { until } from '@turnpike/test-support/until';
import type Stripe from 'stripe';
import { aTopUp, TestSimulator } from './support/testSimulator.ts';

const simulator = new TestSimulator();
beforeAll(() => simulator.start());
afterAll(() => simulator.close());

const aCustomer = (country = 'IE', more: Stripe.CustomerCreateParams = {}) =>
  simulator.stripe.customers.create({
    name: 'Example Business',
    email: 'owner@example.com',
    address: { country, line1: '2 Example Street', city: 'Somewhere', postal_code: '10115' },
    ...more,
  });
const open = async (options: Parameters<typeof aTopUp>[1] = {}, country?: string) => {
  const { id } = await aCustomer(country);
  return simulator.stripe.checkout.sessions.create(aTopUp(id, options));
};
const urlOf = ({ url }: Stripe.Checkout.Session) => url ?? '';

it('takes €25 with 23 % VAT, and invoices them after the payment', async () => {
  const opened = await open({ id: 'top_ie' });
  expect(opened).toMatchObject({
    status: 'open',
    payment_status: 'unpaid',
    amount_subtotal: 2_500,
    amount_total: 3_075,
    total_details: { amount_tax: 575 },
    automatic_tax: { status: 'complete' },
    payment_intent: null,
    invoice: null,
  });

  const visit = await payAt(urlOf(opened));
  expect(visit).toEqual({ location: new URL(`http://localhost:9/done?session=${opened.id}`) });
  const { session, invoice } = await simulator.untilInvoiced(opened.id);
  expect(session).toMatchObject({
    status: 'complete',
    payment_status: 'paid',
    client_reference_id: 'top_ie',
    payment_intent: {
      status: 'succeeded',
      amount_received: 3_075,
      metadata: { top_up_id: 'top_ie' },
      latest_charge: { status: 'succeeded', amount: 3_075, paid: true, disputed: false },
    },
  });
  expect(invoice).toMatchObject({
    status: 'paid',
    number: expect.stringMatching(/^TURN-\d{4}$/),
    subtotal: 2_500,
    total: 3_075,
    amount_paid: 3_075,
    amount_remaining: 0,
    metadata: { top_up_id: 'top_ie' },
    total_taxes: [{ amount: 575, taxability_reason: 'standard_rated', taxable_amount: 2_500 }],
  });
  const pdf = await fetch(invoice.invoice_pdf ?? '');
  expect(pdf.headers.get('content-type')).toBe('application/pdf');
  expect(await pdf.text()).toMatch(/^%PDF-1\.4[\s\S]*30\.75[\s\S]*%%EOF\n$/);
});

it.each([
  ['DE', 'eur', 2_500, 475],
  ['FI', 'eur', 1_001, 255],
  ['HU', 'usd', 2_500, 675],
  ['US', 'usd', 2_500, 0],
  ['CH', 'eur', 2_500, 0],
] as const)('taxes a consumer of %s in %s', async (country, currency, net, tax) => {
  const opened = await open({ net, currency }, country);
  expect([opened.currency, opened.amount_subtotal, opened.total_details?.amount_tax]).toEqual([currency, net, tax]);
  await payAt(urlOf(opened));
  const { invoice } = await simulator.untilInvoiced(opened.id);
  expect([invoice.currency, invoice.subtotal, invoice.total]).toEqual([currency, net, net + tax]);
});

it('makes a sale to a business of another member state reverse charge', async () => {
  const { id } = await aCustomer('DE');
  await simulator.stripe.customers.createTaxId(id, { type: 'eu_vat', value: 'DE123456100' });
  const opened = await simulator.stripe.checkout.sessions.create(aTopUp(id));
  expect([opened.amount_total, opened.total_details?.amount_tax]).toEqual([2_500, 0]);
  await payAt(urlOf(opened));
  const { invoice } = await simulator.untilInvoiced(opened.id);
  expect(invoice).toMatchObject({
    total: 2_500,
    total_taxes: [{ amount: 0, taxability_reason: 'reverse_charge' }],
    customer_tax_ids: [{ type: 'eu_vat', value: 'DE123456100' }],
  });
  expect(await (await fetch(invoice.invoice_pdf ?? '')).text()).toContain('Reverse charge');
});

it('taxes a business of the seller’s own country as a consumer', async () => {
  const { id } = await aCustomer('IE', { tax_id_data: [{ type: 'eu_vat', value: 'IE6388100V' }] });
  const opened = await simulator.stripe.checkout.sessions.create(aTopUp(id));
  expect(opened.total_details?.amount_tax).toBe(575);
});

it('asks for the address on the page where the session may change it, and taxes by it', async () => {
  const { id } = await simulator.stripe.customers.create({ email: 'new@example.com' });
  const opened = await simulator.stripe.checkout.sessions.create(
    aTopUp(id, {
      customer_update: { address: 'auto', name: 'auto' },
      custom_text: { submit: { message: 'The rate of the month of the payment applies.' } },
    }),
  );
  expect(opened.automatic_tax.status).toBe('requires_location_inputs');
  const page = await (await fetch(urlOf(opened))).text();
  for (const shown of ['Enter your country', 'The rate of the month of the payment applies.', 'name="name"'])
    expect(page).toContain(shown);
  await payAt(urlOf(opened), { address: { name: 'Ada', country: 'FR', postal_code: '75001' } });
  const { invoice } = await simulator.untilInvoiced(opened.id);
  expect(invoice).toMatchObject({ total: 3_000, customer_name: 'Ada', customer_address: { country: 'FR' } });
  expect((await simulator.stripe.customers.retrieve(id)) as Stripe.Customer).toMatchObject({
    name: 'Ada',
    address: { country: 'FR', postal_code: '75001' },
  });
  // An address that the session may not save changes no tax.
  const { id: other } = await aCustomer('IE');
  const fixed = await simulator.stripe.checkout.sessions.create(
    aTopUp(other, { billing_address_collection: 'required' }),
  );
  await payAt(urlOf(fixed), { address: { country: 'HU' } });
  expect((await simulator.untilInvoiced(fixed.id)).invoice.total).toBe(3_075);
});

it('stays open after a decline, and takes another card', async () => {
  const opened = await open();
  expect(await payAt(urlOf(opened), { card: 'isDeclined' })).toEqual({
    status: 402,
    message: 'Your card was declined.',
  });
  const declined = await simulator.stripe.checkout.sessions.retrieve(opened.id, { expand: ['payment_intent'] });
  expect(declined).toMatchObject({
    status: 'open',
    payment_intent: {
      status: 'requires_payment_method',
      amount_received: 0,
      last_payment_error: { code: 'card_declined', decline_code: 'generic_decline' },
    },
  });
  await payAt(urlOf(opened));
  const { session } = await simulator.untilInvoiced(opened.id);
  const { id: intent } = session.payment_intent as Stripe.PaymentIntent;
  expect(intent).toBe((declined.payment_intent as Stripe.PaymentIntent).id);
  const charges = await simulator.stripe.charges.list({ payment_intent: intent });
  expect(charges.data.map(({ status }) => status)).toEqual(['succeeded', 'failed']);
});

it('has the bank ask the cardholder, who approves or refuses', async () => {
  const opened = await open();
  expect(await payAt(urlOf(opened), { card: 'asksOnce', bank: 'refuse' })).toMatchObject({ status: 402 });
  await payAt(urlOf(opened), { card: 'asksOnce' });
  const { session } = await simulator.untilInvoiced(opened.id);
  await simulator.untilDelivered();
  expect(simulator.receiver.typesOf((session.payment_intent as Stripe.PaymentIntent).id)).toEqual(
    expect.arrayContaining([
      'payment_intent.requires_action',
      'payment_intent.payment_failed',
      'payment_intent.succeeded',
    ]),
  );
});

it.each([
  ['succeed', 'async_payment_succeeded', 'paid', 3_075],
  ['fail', 'async_payment_failed', 'unpaid', 0],
] as const)(
  'completes a session unpaid where the bank takes its time to %s',
  async (slowPayments, event, paid, received) => {
    await simulator.order('POST', 'config', { slowPayments, slowPaymentMs: 100 });
    const opened = await open();
    expect(await payAt(urlOf(opened))).toEqual({ location: new URL(`http://localhost:9/done?session=${opened.id}`) });
    await until('the end', () => simulator.receiver.typesOf(opened.id).includes(`checkout.session.${event}`));
    await simulator.untilDelivered();
    const { payment_status: status, payment_intent: intent } = await simulator.stripe.checkout.sessions.retrieve(
      opened.id,
      { expand: ['payment_intent'] },
    );
    expect([status, (intent as Stripe.PaymentIntent).amount_received]).toEqual([paid, received]);
    // The bank may have taken its time before a busy machine looks, so the events tell what was there meanwhile.
    const whenTold = (type: string, id: string) =>
      simulator.receiver.events.find(
        ({ type: other, data }) => other === type && (data.object as { id: string }).id === id,
      )?.data.object;
    expect(whenTold('checkout.session.completed', opened.id)).toMatchObject({
      status: 'complete',
      payment_status: 'unpaid',
    });
    expect(whenTold('payment_intent.processing', (intent as Stripe.PaymentIntent).id)).toMatchObject({
      status: 'processing',
      amount_received: 0,
    });
    if (paid === 'paid') expect((await simulator.untilInvoiced(opened.id)).invoice.total).toBe(3_075);
    await simulator.order('POST', 'config', { slowPayments: 'none' });
  },
);

it('has the bank ask anew when the total has changed meanwhile', async () => {
  const opened = await open({ customer_update: { address: 'auto' } });
  const post = (path: string, fields: Record<string, string>) =>
    fetch(urlOf(opened) + path, { method: 'POST', redirect: 'manual', body: new URLSearchParams(fields) });
  expect((await post('', { action: 'pay', card: '4000002500003155' })).headers.get('location')).toMatch(/\/bank$/);
  await post('', { action: 'address', country: 'HU' });
  expect((await post('/bank', { action: 'approve' })).status).toBe(400);
  const { payment_status: status } = await simulator.stripe.checkout.sessions.retrieve(opened.id);
  expect(status).toBe('unpaid');
});

it('lets a visitor go back, and expires the session in its time', async () => {
  const opened = await open();
  expect(await (await fetch(urlOf(opened))).text()).toContain('<a href="http://localhost:9/cancel">');
  await simulator.order('POST', 'advance', { ms: 24 * 3_600_000 });
  expect(await simulator.stripe.checkout.sessions.retrieve(opened.id)).toMatchObject({ status: 'expired', url: null });
  expect(await payAt(urlOf(opened))).toMatchObject({ status: 200 });
  await until('the event', () => simulator.receiver.typesOf(opened.id).includes('checkout.session.expired'));
});

it('expires a session by order, once', async () => {
  const { id } = await open();
  expect(await simulator.stripe.checkout.sessions.expire(id)).toMatchObject({ status: 'expired' });
  await expect(simulator.stripe.checkout.sessions.expire(id)).rejects.toMatchObject({ statusCode: 400 });
});

it('shows net, VAT and total, and sends the browser nowhere else', async () => {
  const opened = await open();
  const page = await fetch(urlOf(opened));
  expect(page.headers.get('content-security-policy')).toContain("form-action 'self' http://localhost:9;");
  const text = await page.text();
  for (const shown of ['€25.00', 'VAT IE (23 %)', '€5.75', '€30.75']) expect(text).toContain(shown);
});

it.each([
  ['payment_method_types', { payment_method_types: ['card'] }, 'parameter_unknown', 'payment_method_types'],
  ['a misspelt name', { sucess_url: 'http://localhost' }, 'parameter_unknown', 'sucess_url'],
  ['a misspelt name within', { automatic_tax: { enable: true } }, 'parameter_unknown', 'automatic_tax[enable]'],
  ['no address to return to', { success_url: undefined }, 'parameter_missing', 'success_url'],
  ['no number', { expires_at: 'soon' }, 'parameter_invalid_integer', 'expires_at'],
  ['no customer', { customer: 'cus_unknown' }, 'resource_missing', 'customer'],
] as const)('refuses a session with %s', async (_case, change, code, param) => {
  const { id } = await aCustomer();
  const params = { ...aTopUp(id), ...change } as unknown as Stripe.Checkout.SessionCreateParams;
  await expect(simulator.stripe.checkout.sessions.create(params)).rejects.toMatchObject({
    statusCode: 400,
    type: 'StripeInvalidRequestError',
    code,
    param,
  });
});

it('refuses a session of a customer without an address where tax needs one', async () => {
  const { id } = await simulator.stripe.customers.create({ email: 'new@example.com' });
  await expect(simulator.stripe.checkout.sessions.create(aTopUp(id))).rejects.toMatchObject({
    code: 'customer_tax_location_invalid',
  });
});
