import type { Stripe } from 'stripe';
import { withoutIncludables } from '../api/includables.ts';
import { Clock } from './clock.ts';
import { Journal } from './journal.ts';
import { type Knobs, knobsSchema } from './knobs.ts';
import { defaultRegistrations, defaultSettings, type Settings } from './settings.ts';
import type { Removal } from './table.ts';
import { type StoredObject, Table } from './table.ts';
import type { Buyer } from './values.ts';
import { newId } from './values.ts';

/** The version of the API that the simulator plays. It has to be the client's own. */
export const API_VERSION: Stripe.LatestApiVersion = '2026-10-28.endive';

/** Parts of a Checkout session that its object does not show. */
export interface SessionSecrets {
  id: string;
  customerUpdate: { address: 'auto' | 'never'; name: 'auto' | 'never' };
  paymentIntentData: {
    description: string | null;
    metadata: Stripe.Metadata;
    setupFutureUsage: 'off_session' | 'on_session' | null;
  };
  /** Tax of the line items, as the session was priced last. */
  taxCode: string | null;
  /** The payment method that waits for the answer of its bank. */
  askedPaymentMethod: string | null;
  /** The buyer by whom the payment was taxed, once it is paid. */
  taxedAs: Buyer | null;
}

/** The state of an event's delivery to an endpoint. */
export interface Delivery {
  /** `<event>:<endpoint>`. */
  id: string;
  event: string;
  endpoint: string;
  state: 'pending' | 'delivered' | 'failed' | 'lost';
  attempts: number;
}

/** The answer to an idempotency key. */
export interface KeptAnswer {
  /** The key. */
  id: string;
  created: number;
  path: string;
  /** SHA-256 of the parameters. */
  parameters: string;
  requestId: string;
  status: number;
  body: object;
}

/** A number of a series, and the customer's prefix where each customer has one. */
interface Counter {
  id: string;
  value: number;
}

interface ProcessorOptions {
  /** Address under which browsers and clients reach the simulator. */
  origin: string;
  /** File of the state. Without one the state ends with the process. */
  file?: string | undefined;
}

/** The processor's memory: its objects, its settings, its clock, and what it does later. */
export class Processor {
  readonly origin: string;
  readonly clock = new Clock();
  knobs: Knobs = knobsSchema.parse({});
  settings: Settings = defaultSettings();
  /** The request under way, for the events that it causes. */
  request: { id: string; idempotency_key: string | null } | null = null;
  /** Called with each new event. */
  onEvent: (event: Stripe.Event) => void = () => undefined;
  readonly #journal: Journal;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #tables = new Map<string, Table<StoredObject>>();

  readonly customers = this.#table<Stripe.Customer>('customer');
  readonly deletedCustomers = this.#table<Stripe.DeletedCustomer>('deleted customer');
  readonly taxIds = this.#table<Stripe.TaxId>('tax ID');
  readonly taxRates = this.#table<Stripe.TaxRate>('tax rate');
  readonly registrations = this.#table<Stripe.Tax.Registration>('tax registration');
  readonly paymentMethods = this.#table<Stripe.PaymentMethod>('PaymentMethod');
  readonly sessions = this.#table<Stripe.Checkout.Session>('checkout.session');
  readonly sessionSecrets = this.#table<SessionSecrets>('secret of a checkout.session');
  readonly paymentIntents = this.#table<Stripe.PaymentIntent>('payment_intent');
  readonly charges = this.#table<Stripe.Charge>('charge');
  readonly refunds = this.#table<Stripe.Refund>('refund');
  readonly disputes = this.#table<Stripe.Dispute>('dispute');
  readonly earlyFraudWarnings = this.#table<Stripe.Radar.EarlyFraudWarning>('early fraud warning');
  readonly balanceTransactions = this.#table<Stripe.BalanceTransaction>('balance transaction');
  readonly invoices = this.#table<Stripe.Invoice>('invoice');
  readonly invoiceItems = this.#table<Stripe.InvoiceItem>('invoiceitem');
  readonly invoicePayments = this.#table<Stripe.InvoicePayment>('invoice payment');
  readonly creditNotes = this.#table<Stripe.CreditNote>('credit note');
  readonly portalConfigurations = this.#table<Stripe.BillingPortal.Configuration>('portal configuration');
  readonly portalSessions = this.#table<Stripe.BillingPortal.Session>('portal session', 'drop_oldest');
  readonly endpoints = this.#table<Stripe.WebhookEndpoint>('webhook endpoint');
  readonly events = this.#table<Stripe.Event>('event', 'drop_oldest');
  readonly deliveries = this.#table<Delivery>('delivery', 'drop_oldest');
  readonly keptAnswers = this.#table<KeptAnswer>('kept answer', 'drop_oldest');
  readonly counters = this.#table<Counter>('counter');

  constructor({ origin, file }: ProcessorOptions) {
    this.origin = origin;
    this.#journal = new Journal(file);
    for (const { table, object } of this.#journal.read()) this.#tables.get(table)?.load(object);
    this.#journal.rewrite(
      Array.from(this.#tables).flatMap(([table, objects]) => objects.list().map((object) => ({ table, object }))),
    );
    if (this.registrations.size === 0) for (const each of defaultRegistrations()) this.registrations.add(each);
  }

  now(): number {
    return this.clock.nowSeconds();
  }

  newId(prefix: string): string {
    return newId(prefix);
  }

  /** Returns the next number of a series, the first being 1. */
  count(series: string): number {
    const value = (this.counters.find(series)?.value ?? 0) + 1;
    this.counters.put({ id: series, value });
    return value;
  }

  /** Calls `act` after a time of the system's clock, unless the simulator has ended by then. */
  later(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }

  /** Records an event with the object as it is now. */
  emit(type: Stripe.Event['type'], object: object, previous?: object): Stripe.Event {
    const event = {
      id: this.newId('evt'),
      object: 'event',
      api_version: API_VERSION,
      created: this.now(),
      data: { object: withoutIncludables(object), ...(previous && { previous_attributes: previous }) },
      livemode: false,
      pending_webhooks: 0,
      request: this.request ?? { id: null, idempotency_key: null },
      type,
    } as Stripe.Event;
    this.events.add(event);
    this.onEvent(event);
    return event;
  }

  /** Changes the seller's country or the state of its tax settings. Kept until the process ends. */
  changeSettings({
    country,
    status,
  }: {
    country?: string | undefined;
    status?: 'active' | 'pending' | undefined;
  }): void {
    const { account, tax } = this.settings;
    const address = tax.head_office?.address;
    this.settings = {
      account: { ...account, country: country ?? account.country },
      tax: {
        ...tax,
        ...(country && address && { head_office: { address: { ...address, country } } }),
        ...(status && {
          status,
          status_details: status === 'active' ? { active: {} } : { pending: { missing_fields: ['head_office'] } },
        }),
      },
    };
  }

  /** Returns the number of endpoints that have not taken an event. */
  countUndelivered(event: string): number {
    return this.endpoints.list().filter(({ id }) => {
      const delivery = this.deliveries.find(`${event}:${id}`);
      return delivery !== undefined && delivery.state !== 'delivered';
    }).length;
  }

  /** Finds an object of any kind by its id. */
  findAny(id: string): StoredObject | undefined {
    const tables: Record<string, { find(id: string): StoredObject | undefined }> = {
      ch: this.charges,
      cn: this.creditNotes,
      cs: this.sessions,
      cus: this.customers,
      dp: this.disputes,
      evt: this.events,
      ii: this.invoiceItems,
      in: this.invoices,
      inpay: this.invoicePayments,
      pi: this.paymentIntents,
      pm: this.paymentMethods,
      re: this.refunds,
      txi: this.taxIds,
      txn: this.balanceTransactions,
      txr: this.taxRates,
    };
    return tables[id.split('_')[0] ?? '']?.find(id);
  }

  /** Ends what was to be done later. */
  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #table<T extends StoredObject>(noun: string, whenFull: 'refuse' | 'drop_oldest' = 'refuse'): Table<T> {
    const written = (object: T | Removal) => this.#journal.append({ table: noun, object });
    const table = new Table<T>(noun, written, whenFull);
    this.#tables.set(noun, table as unknown as Table<StoredObject>);
    return table;
  }
}
