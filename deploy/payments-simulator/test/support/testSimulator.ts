import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { until } from '@turnpike/test-support/until';
import Stripe from 'stripe';
import { type PaymentsSimulator, startPaymentsSimulator } from '../../src/startPaymentsSimulator.ts';

export const SECRET_KEY = 'sk_test_0123456789abcdef';
const WEBHOOK_SECRET = 'whsec_0123456789abcdef';

/** Receives webhooks as a seller does: verifies each by the real client and keeps it. */
class Receiver {
  readonly events: Stripe.Event[] = [];
  /** Status of the next answers; 200 when the list is empty. */
  readonly statuses: number[] = [];
  refused = 0;
  url = '';
  #server: Server | undefined;

  async start(): Promise<void> {
    this.#server = createServer(async (req, res) => {
      const body = await buffer(req);
      try {
        const header = String(req.headers['stripe-signature']);
        const event = Stripe.webhooks.constructEvent(body, header, WEBHOOK_SECRET);
        const status = this.statuses.shift() ?? 200;
        if (status === 200) this.events.push(event);
        res.writeHead(status).end();
      } catch {
        this.refused += 1;
        res.writeHead(400).end();
      }
    });
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/webhooks`;
  }

  /** Returns the types of the events about an object, in the order of arrival. */
  typesOf(object: string): string[] {
    return this.events.filter(({ data }) => (data.object as { id?: string }).id === object).map(({ type }) => type);
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }
}

/** A simulator in the test's process with a receiver of its webhooks and the real client. */
export class TestSimulator {
  readonly receiver = new Receiver();
  stripe!: Stripe;
  #simulator: PaymentsSimulator | undefined;
  #ports = { port: 0, adminPort: 0 };
  #file: string | undefined;

  async start({ file }: { file?: string } = {}): Promise<void> {
    await this.receiver.start();
    this.#ports = { port: await findFreePort(), adminPort: await findFreePort() };
    this.#file = file;
    await this.#open();
    this.stripe = this.client();
  }

  /** Ends the process that the simulator would be, and starts it with its file. */
  async restart(): Promise<void> {
    await this.#simulator?.close();
    await this.#open();
  }

  async #open(): Promise<void> {
    this.#simulator = await startPaymentsSimulator({
      listenHost: '127.0.0.1',
      ...this.#ports,
      secretKey: SECRET_KEY,
      webhook: { url: this.receiver.url, secret: WEBHOOK_SECRET },
      file: this.#file,
      log: aSilentLogger(),
    });
  }

  get url(): string {
    return `http://localhost:${this.#ports.port}`;
  }

  /** The client of the processor, without retries unless a test wants them. */
  client(options: Stripe.StripeConfig = {}, key = SECRET_KEY): Stripe {
    return new Stripe(key, {
      host: '127.0.0.1',
      port: this.#ports.port,
      protocol: 'http',
      maxNetworkRetries: 0,
      telemetry: false,
      ...options,
    });
  }

  /** Gives an order to the admin port, and returns its answer. Throws if it refuses. */
  async order<T = Record<string, unknown>>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`http://localhost:${this.#ports.adminPort}/admin/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as T;
    if (!response.ok) throw new Error(`${method} ${path} is ${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Waits until every delivery of every event has ended. */
  untilDelivered(): Promise<unknown> {
    return until('the end of all deliveries', async () => {
      const { deliveries_under_way: underWay } = await this.order<{ deliveries_under_way: number }>('GET', 'state');
      return underWay === 0;
    });
  }

  /** Waits until a session has its invoice, and returns both. */
  async untilInvoiced(id: string): Promise<{ session: Stripe.Checkout.Session; invoice: Stripe.Invoice }> {
    return until(`the invoice of ${id}`, async () => {
      const session = await this.stripe.checkout.sessions.retrieve(id, {
        expand: ['invoice', 'payment_intent.latest_charge'],
      });
      const { invoice } = session;
      return invoice !== null && typeof invoice !== 'string' && { session, invoice };
    });
  }

  async close(): Promise<void> {
    await this.#simulator?.close();
    await this.receiver.close();
  }
}

/** Parameters of a top-up over net cents, as the account layer opens one. */
export const aTopUp = (
  customer: string,
  {
    id = 'top_1',
    net = 2_500,
    currency = 'eur',
    ...more
  }: { id?: string; net?: number; currency?: string } & Partial<Stripe.Checkout.SessionCreateParams> = {},
): Stripe.Checkout.SessionCreateParams => ({
  mode: 'payment',
  customer,
  client_reference_id: id,
  metadata: { top_up_id: id },
  allowed_payment_method_types: ['card'],
  line_items: [
    {
      quantity: 1,
      price_data: {
        currency,
        unit_amount: net,
        tax_behavior: 'exclusive',
        product_data: { name: 'API credit', tax_code: 'txcd_10105001' },
      },
    },
  ],
  automatic_tax: { enabled: true },
  adaptive_pricing: { enabled: false },
  invoice_creation: { enabled: true, invoice_data: { metadata: { top_up_id: id } } },
  payment_intent_data: { metadata: { top_up_id: id }, setup_future_usage: 'off_session' },
  success_url: 'http://localhost:9/done?session={CHECKOUT_SESSION_ID}',
  cancel_url: 'http://localhost:9/cancel',
  ...more,
});
