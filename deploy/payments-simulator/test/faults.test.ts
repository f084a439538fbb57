import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { payAt } from '@turnpike/test-support/payAt';
import { until } from '@turnpike/test-support/until';
import type Stripe from 'stripe';
import { aTopUp, SECRET_KEY, TestSimulator } from './support/testSimulator.ts';

const simulator = new TestSimulator();
let customer: string;
beforeAll(async () => {
  await simulator.start();
  await simulator.order('POST', 'config', { webhookRetryMs: 20 });
  ({ id: customer } = await simulator.stripe.customers.create({ address: { country: 'IE' } }));
});
afterEach(async () => {
  await simulator.order('DELETE', 'faults');
  await simulator.order('POST', 'config', { latencyMs: 0 });
});
afterAll(() => simulator.close());

const { receiver } = simulator;
const create = (options: Stripe.RequestOptions = {}, client = simulator.stripe) =>
  client.checkout.sessions.create(aTopUp(customer), options);
const pay = async (): Promise<string> => {
  const { id, url } = await create();
  await payAt(url ?? '');
  await simulator.untilInvoiced(id);
  return id;
};
const spoil = (rules: object[], kind = 'webhooks') => simulator.order('POST', `faults/${kind}`, rules);
const COMPLETED = 'checkout.session.completed';
const arrivalsOf = (object: string) => receiver.typesOf(object).filter((type) => type === COMPLETED).length;

it('signs each event as the processor does', async () => {
  const id = await pay();
  await until('the event', () => arrivalsOf(id) === 1);
  expect(receiver.refused).toBe(0);
  const event = receiver.events.find((each) => each.type === COMPLETED);
  expect(event).toMatchObject({ object: 'event', api_version: '2026-10-28.endive', livemode: false });
});

it.each([
  ['double', 2],
  ['reset_after', 2],
  ['reset_before', 1],
] as const)('delivers an event %s', async (fault, arrivals) => {
  await spoil([{ match: { of: COMPLETED }, fault, times: 1 }]);
  const id = await pay();
  await until('the event', () => arrivalsOf(id) >= arrivals);
  await simulator.untilDelivered();
  expect(arrivalsOf(id)).toBe(arrivals);
});

// A process that stands still for as long as the event is late sends it beside those that followed.
it('delivers an event late, after those that followed it', async () => {
  await spoil([{ match: { of: COMPLETED }, fault: 'late', delayMs: 2_000, times: 1 }]);
  const id = await pay();
  await until('the event', () => arrivalsOf(id) === 1);
  const types = receiver.events.map(({ type }) => type);
  expect(types.lastIndexOf('invoice.paid')).toBeLessThan(types.lastIndexOf(COMPLETED));
});

it('repeats an event until it is taken', async () => {
  // The statuses are those of the next deliveries, whichever these are.
  await simulator.untilDelivered();
  receiver.statuses.push(500, 302, 404);
  const { id } = await simulator.stripe.customers.create({ email: 'events@example.com' });
  await until('the event', () => receiver.typesOf(id).includes('customer.created'));
  await simulator.untilDelivered();
  const { deliveries } = await simulator.order<{ deliveries: { object: string; status: number }[] }>('GET', 'log');
  expect(deliveries.filter(({ object }) => object === id).map(({ status }) => status)).toEqual([500, 302, 404, 200]);
});

it('lists a lost event as undelivered, in the order of time behind another', async () => {
  const before = await simulator.stripe.events.list({ limit: 1 });
  await spoil([{ match: { of: COMPLETED }, fault: 'lose' }]);
  const lost = [await pay(), await pay()];
  await simulator.untilDelivered();
  const missed: string[] = [];
  const walk = { delivery_success: false, ending_before: before.data[0]?.id ?? '', limit: 1 };
  for await (const { data } of simulator.stripe.events.list(walk)) missed.push((data.object as { id: string }).id);
  expect(missed).toEqual(lost);
  expect(lost.map(arrivalsOf)).toEqual([0, 0]);
});

it('replays the answer to a key, and refuses other parameters', async () => {
  const first = await create({ idempotencyKey: 'key-1' });
  const again = await create({ idempotencyKey: 'key-1' });
  expect(again.id).toBe(first.id);
  expect(again.lastResponse.headers).toMatchObject({
    'idempotent-replayed': 'true',
    'original-request': first.lastResponse.requestId,
  });
  const refusal = { type: 'StripeIdempotencyError', statusCode: 400 };
  await expect(
    simulator.stripe.checkout.sessions.create(aTopUp(customer, { net: 9_900 }), { idempotencyKey: 'key-1' }),
  ).rejects.toMatchObject(refusal);
  await expect(simulator.stripe.customers.create({}, { idempotencyKey: 'key-1' })).rejects.toMatchObject(refusal);
});

it('refuses a key whose request is under way, and forgets keys after a day', async () => {
  await simulator.order('POST', 'config', { latencyMs: 300 });
  const options = { idempotencyKey: 'key-2' };
  const [first, second] = await Promise.allSettled([create(options), create(options)]);
  expect([first, second].filter(({ status }) => status === 'fulfilled').length).toBe(1);
  expect([first, second].find((each) => each.status === 'rejected')).toMatchObject({
    reason: { statusCode: 409, code: 'idempotency_key_in_use' },
  });
  await simulator.order('POST', 'config', { latencyMs: 0 });
  const { id } = await create(options);
  await simulator.order('POST', 'advance', { ms: 24 * 3_600_000 });
  expect((await create(options)).id).not.toBe(id);
});

it('keeps no answer of a request that did not begin', async () => {
  const params = { ...aTopUp(customer), mode: 'nothing' } as Stripe.Checkout.SessionCreateParams;
  const options = { idempotencyKey: 'key-3' };
  await expect(simulator.stripe.checkout.sessions.create(params, options)).rejects.toMatchObject({ statusCode: 400 });
  expect((await create(options)).status).toBe('open');
});

it.each(['reset_before', 'reset_after', 'answer_500_after', 'refuse_503'])(
  'does what a client asks for once, though %s strikes',
  async (fault) => {
    const { id } = await simulator.stripe.customers.create({ address: { country: 'IE' } });
    await spoil([{ match: { of: 'POST /v1/checkout/sessions' }, fault, times: 1 }], 'api');
    const retrying = simulator.client({ maxNetworkRetries: 2 });
    const session = await retrying.checkout.sessions.create(aTopUp(id));
    const { data } = await simulator.stripe.checkout.sessions.list({ customer: id });
    expect(data.map((each) => each.id)).toEqual([session.id]);
  },
);

it('lets a client without patience give up on a silent answer', async () => {
  await spoil([{ match: { of: 'GET /v1/events' }, fault: 'never_answers' }], 'api');
  await expect(simulator.client({ timeout: 200 }).events.list()).rejects.toMatchObject({
    type: 'StripeConnectionError',
  });
});

it('refuses another key, another version and another path', async () => {
  await expect(simulator.client({}, 'sk_test_another').customers.list()).rejects.toMatchObject({
    type: 'StripeAuthenticationError',
  });
  const response = await fetch(`${simulator.url}/v1/customers`, {
    headers: { authorization: `Bearer ${SECRET_KEY}`, 'stripe-version': '2024-06-20' },
  });
  expect(response.status).toBe(400);
  await expect(simulator.stripe.products.list()).rejects.toMatchObject({ statusCode: 404 });
});

it.each([
  ['forged', 1],
  ['old', 1],
  // The client has no bound for times ahead, so the same event comes once only because the seller knows its id.
  ['future', 0],
] as const)('delivers an event with a signature that is %s', async (signature, refusals) => {
  const before = receiver.refused;
  await spoil([{ match: { of: 'customer.created' }, fault: signature, times: 1 }]);
  const { id } = await simulator.stripe.customers.create({ email: 'signed@example.com' });
  await until('the event', () => receiver.typesOf(id).length === 1);
  expect(receiver.refused - before).toBe(refusals);
  const [event] = (await simulator.stripe.events.list({ limit: 1, type: 'customer.created' })).data;
  await simulator.order('POST', `events/${event?.id}/deliver`, { signature });
  await until('the event again', () => receiver.typesOf(id).length === 2);
});

it('lists pages the newest first, forwards and backwards', async () => {
  const made: string[] = [];
  for (let count = 0; count < 5; count += 1)
    made.unshift((await simulator.stripe.customers.create({ email: 'pages@example.com' })).id);
  const ids = async (params: Stripe.CustomerListParams) => {
    const { data, has_more: hasMore } = await simulator.stripe.customers.list({
      email: 'pages@example.com',
      ...params,
    });
    return [data.map(({ id }) => id), hasMore];
  };
  expect(await ids({ limit: 2 })).toEqual([made.slice(0, 2), true]);
  expect(await ids({ limit: 2, starting_after: made[1] ?? '' })).toEqual([made.slice(2, 4), true]);
  expect(await ids({ limit: 2, starting_after: made[3] ?? '' })).toEqual([made.slice(4), false]);
  expect(await ids({ limit: 2, ending_before: made[3] ?? '' })).toEqual([made.slice(1, 3), true]);
});
