import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { payAt } from '@turnpike/test-support/payAt';
import { searchOf } from '@turnpike/test-support/searchOf';
import { until } from '@turnpike/test-support/until';
import type Stripe from 'stripe';
import { aTopUp, TestSimulator } from './support/testSimulator.ts';

const { numRuns: TOP_UPS, seed: SEED } = searchOf(300);
/** Top-ups under way at once. */
const VISITORS = 12;
const NETS = [1_000, 1_001, 2_500, 4_999, 10_000];
const COUNTRIES = ['IE', 'DE', 'FR', 'FI', 'HU', 'US', 'CH', 'LU'];

const simulator = new TestSimulator();
beforeAll(() => simulator.start());
afterAll(() => simulator.close());

/** A seller that credits a top-up by whichever event comes, and reads amounts from the object alone. */
class Seller {
  readonly credits = new Map<string, number>();
  readonly #client: Stripe;

  constructor(client: Stripe) {
    this.#client = client;
  }

  async settle(id: string): Promise<void> {
    const session = await this.#client.checkout.sessions.retrieve(id);
    if (session.payment_status !== 'paid' || this.credits.has(id)) return;
    this.credits.set(id, session.amount_subtotal ?? 0);
  }
}

it('credits all top-ups once each, with a document and a number each, however badly events come', async () => {
  await simulator.order('POST', 'config', { webhookRetryMs: 30, invoiceDelayMs: 20 });
  const rule = (fault: string, probability: number, delayMs = 150) => ({
    match: { probability },
    fault,
    delayMs,
    seed: `${SEED} ${fault}`,
  });
  await simulator.order('POST', 'faults/webhooks', [
    rule('double', 0.4),
    rule('shuffle', 0.6),
    rule('late', 0.2),
    rule('lose', 0.1),
    // Chance alone spares all of sixty once in six hundred runs, and then there is nothing to list.
    { match: { of: 'checkout.session.completed', nth: 1 }, fault: 'lose' },
    rule('reset_after', 0.1),
    rule('reset_before', 0.1),
  ]);
  await simulator.order('POST', 'faults/api', [
    rule('reset_before', 0.02),
    rule('reset_after', 0.02),
    rule('answer_500_after', 0.02),
  ]);
  const client = simulator.client({ maxNetworkRetries: 5 });
  const customers = await Promise.all(
    COUNTRIES.map((country) => client.customers.create({ address: { country, postal_code: '10115', state: 'OR' } })),
  );

  const sessions: string[] = [];
  const visit = async (number: number) => {
    const customer = customers[number % customers.length]?.id ?? '';
    const net = NETS[number % NETS.length] ?? 0;
    const currency = number % 3 === 0 ? 'usd' : 'eur';
    const params = aTopUp(customer, { id: `top_${number}`, net, currency });
    const { id, url } = await client.checkout.sessions.create(params, { idempotencyKey: `top_${number}:checkout` });
    sessions.push(id);
    if (number % 7 === 0) await payAt(url ?? '', { card: 'isDeclined' });
    await payAt(url ?? '', number % 5 === 0 ? { card: 'asksOnce' } : {});
  };
  const numbers = Array.from({ length: TOP_UPS }, (_, number) => number);
  await Promise.all(
    Array.from({ length: VISITORS }, async () => {
      for (let number = numbers.shift(); number !== undefined; number = numbers.shift()) await visit(number);
    }),
  );
  await until('all invoices', async () => {
    const { currencies } = await simulator.order<{ currencies: Record<string, { invoices_paid: number }> }>(
      'GET',
      'truth',
    );
    return Object.values(currencies).reduce((sum, { invoices_paid: paid }) => sum + paid, 0) === TOP_UPS;
  });
  await simulator.untilDelivered();
  await simulator.order('DELETE', 'faults');

  const seller = new Seller(client);
  const { events } = simulator.receiver;
  await Promise.all(
    events
      .filter(({ type }) => type === 'checkout.session.completed')
      .map(({ data }) => seller.settle((data.object as { id: string }).id)),
  );
  const byWebhook = seller.credits.size;
  // The list of undelivered events has the rest.
  for await (const { type, data } of client.events.list({ delivery_success: false, limit: 100 }))
    if (type === 'checkout.session.completed') await seller.settle((data.object as { id: string }).id);
  expect(byWebhook).toBeLessThan(TOP_UPS);
  expect(Array.from(seller.credits.keys()).sort()).toEqual(sessions.toSorted());

  const invoices: Stripe.Invoice[] = [];
  for await (const invoice of client.invoices.list({ status: 'paid', limit: 100 })) invoices.push(invoice);
  expect(new Set(invoices.map(({ metadata }) => metadata?.top_up_id)).size).toBe(TOP_UPS);
  const inSeries = numbersUpTo(TOP_UPS);
  expect(invoices.map(({ number }) => number).sort()).toEqual(inSeries);

  const total = (values: (number | null)[]) => values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  const transactions: Stripe.BalanceTransaction[] = [];
  for await (const each of client.balanceTransactions.list({ limit: 100 })) transactions.push(each);
  expect(transactions.length).toBe(TOP_UPS);
  for (const currency of ['eur', 'usd']) {
    const of = <T extends { currency: string }>(all: T[]) => all.filter((each) => each.currency === currency);
    const paid = of(invoices);
    expect(total(of(transactions).map(({ amount }) => amount))).toBe(total(paid.map((invoice) => invoice.total)));
    const taxes = total(paid.flatMap(({ total_taxes: all }) => (all ?? []).map(({ amount }) => amount)));
    expect(total(paid.map((invoice) => invoice.total))).toBe(total(paid.map(({ subtotal }) => subtotal)) + taxes);
  }
  expect(total(Array.from(seller.credits.values()))).toBe(total(invoices.map(({ subtotal }) => subtotal)));
  // More deliveries than events: doubled ones, and those that were repeated after a reset.
  expect(simulator.receiver.refused).toBe(0);
  expect(events.length).toBeGreaterThan(new Set(events.map(({ id }) => id)).size);
});

const numbersUpTo = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `TURN-${String(index + 1).padStart(4, '0')}`);
