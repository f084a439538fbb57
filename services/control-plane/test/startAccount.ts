import type { AddressInfo } from 'node:net';
import { drain } from '@turnpike/http-service/drain';
import { listen } from '@turnpike/http-service/listen';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { migrate } from '@turnpike/postgres/migrate';
import { sql } from '@turnpike/postgres/sql';
import { type ResolveHost, resolveHost } from '@turnpike/request-reading/images/resolveHost';
import { createThrottle } from '@turnpike/request-throttle/createThrottle';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import { createRoles } from '@turnpike/test-support/createRoles';
import { type SignInOptions, signInAt } from '@turnpike/test-support/signInAt';
import { openPostgres } from '@turnpike/test-support/startPostgres';
import { until } from '@turnpike/test-support/until';
import { SMTPServer } from 'smtp-server';
import { AlertWebhooks } from '../src/alerts/alertWebhooks.ts';
import { createApp } from '../src/app.ts';
import { BalanceWatch } from '../src/billing/balanceWatch.ts';
import { DocumentQueue } from '../src/billing/documentQueue.ts';
import { openDocumentStore, openPayments, type Payments } from '../src/billing/paymentProcessor.ts';
import { ReversalQueue } from '../src/billing/reversalQueue.ts';
import { SettleQueue } from '../src/billing/settleQueue.ts';
import { VatIdQueue } from '../src/billing/vatIdQueue.ts';
import { type Db, openDatabase } from '../src/database/openDatabase.ts';
import { Provider, type ProviderSettings } from '../src/identity/providers.ts';
import { watchProviders } from '../src/identity/watchProviders.ts';
import { openJobQueue } from '../src/jobs/openJobQueue.ts';
import { Outbox } from '../src/mail/outbox.ts';
import type { RegionHosts } from '../src/organizations/regionHosts.ts';
import type { Pages } from '../src/pages/pages.ts';
import type { TestPayments } from './startPayments.ts';

export const fleet = aFleet('global');
export const ACCOUNT_ORIGIN = 'http://localhost:8106';
const REGION_HOSTS: RegionHosts = {
  eu: { console_url: 'https://console.eu.example', base_url: 'https://api.eu.example/v1' },
};

/** A machine that runs four files at once stands still for seconds. */
const PATIENCE = { statementMs: 30_000, waitMs: 30_000, transactionMs: 30_000 };

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the tests assert the shapes
  body: any;
}

export interface CaughtMail {
  to: string;
  text: string;
}

/** A browser: it keeps cookies, and says that a request comes from our own page. */
export interface Browser {
  readonly cookies: Map<string, string>;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  get(path: string): Promise<Answer>;
  post(path: string, body?: unknown): Promise<Answer>;
}

export interface TestAccount {
  db: Db;
  url: string;
  mails: CaughtMail[];
  /** The payment processor; undefined where the test has none. */
  payments: Payments | undefined;
  settleQueue: SettleQueue;
  reversalQueue: ReversalQueue;
  vatIdQueue: VatIdQueue;
  documentQueue: DocumentQueue;
  balanceWatch: BalanceWatch;
  outbox: Outbox;
  openBrowser(): Browser;
  /** A browser in which a user with this address is signed in by a mailed link. */
  signIn(address: string): Promise<Browser & { userId: string }>;
  /** Goes to an identity provider and back as a browser does. Returns the page that it ends on. */
  follow(browser: Browser, url: string, provider: SignInOptions): Promise<string>;
  /** The token in the newest mail to an address, once it has come. */
  readToken(address: string, isNewerThan?: number): Promise<string>;
  stop(): Promise<void>;
}

/** Waits until a statement waits for the lock of another transaction. */
export const untilBlocked = (db: Db) =>
  until('a statement that waits for a lock', async () => {
    const waiting = await db.query(sql`
      SELECT 1 AS one FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
    return waiting.length > 0;
  });

/** The control plane on a real Postgres, with a real mail server that keeps what comes. */
export async function startAccount({
  providers = [],
  pages,
  regionHosts = REGION_HOSTS,
  port = 0,
  limits = { requestsPerMinute: 60_000, burst: 10_000 },
  userLimits = { requestsPerMinute: 60_000, burst: 10_000 },
  trustedHops = 0,
  telemetry = noTelemetry,
  refuseMail = () => undefined,
  checkMs = 60_000,
  paymentProcessor,
  followAfterSeconds = 3_600,
  webhookPrivateHosts = new Set(),
  resolveWebhookHost = resolveHost,
}: {
  providers?: ProviderSettings[];
  pages?: Pages;
  regionHosts?: RegionHosts;
  /** A port whose `localhost` address is the origin, as browsers with passkeys need it. Otherwise the system chooses a port. */
  port?: number;
  /** The limits of sign-ins and mails; high where a test is about something else. */
  limits?: { requestsPerMinute: number; burst: number };
  /** The limits of requests of one user. */
  userLimits?: { requestsPerMinute: number; burst: number };
  /** Proxies in front whose `X-Forwarded-For` counts. */
  trustedHops?: number;
  telemetry?: Pick<Telemetry, 'meter' | 'tracer'>;
  /** The code with which the mail server refuses an address; undefined where it takes the mail. */
  refuseMail?: (address: string) => number | undefined;
  /** Between two checks of the providers. */
  checkMs?: number;
  paymentProcessor?: TestPayments['settings'];
  /** Until the first look at a new top-up. */
  followAfterSeconds?: number;
  /** `host:port` of the hosts that webhooks may be posted to although they are private. */
  webhookPrivateHosts?: ReadonlySet<string>;
  resolveWebhookHost?: ResolveHost;
} = {}): Promise<TestAccount> {
  const accountOrigin = port === 0 ? ACCOUNT_ORIGIN : `http://localhost:${port}`;
  const postgres = await openPostgres();
  const { ownerUrl, serviceUrl, serviceRole } = await createRoles(await postgres.createDatabase());
  await migrate({ databaseUrl: ownerUrl, folder: new URL('../sql/', import.meta.url), serviceRole });

  const mails: CaughtMail[] = [];
  const mailServer = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onRcptTo({ address }, _session, done) {
      const responseCode = refuseMail(address);
      done(responseCode === undefined ? null : Object.assign(new Error('not taken'), { responseCode }));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const to = session.envelope.rcptTo.map(({ address }) => address).join(',');
        mails.push({ to, text: Buffer.concat(chunks).toString() });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => mailServer.listen(0, '127.0.0.1', () => resolve()));
  const smtpUrl = `smtp://127.0.0.1:${(mailServer.server.address() as AddressInfo).port}`;

  const log = aSilentLogger();
  const db = openDatabase(serviceUrl, PATIENCE);
  const queue = await openJobQueue(serviceUrl, log, PATIENCE.waitMs);
  const outbox = new Outbox({
    db,
    boss: queue.boss,
    smtpUrl,
    from: 'Turnpike <no-reply@turnpike.localhost>',
    accountOrigin,
    meter: telemetry.meter,
    log,
  });
  await outbox.start();
  const knownProviders = providers.map((settings) => new Provider(settings));
  const watching = watchProviders(knownProviders, { meter: telemetry.meter, log, checkMs });
  const throttle = () => createThrottle({ ...limits, maxNames: 1_000 });
  const payments = paymentProcessor && openPayments(paymentProcessor);
  const settleQueue = new SettleQueue({ db, boss: queue.boss, payments, outbox, log, followAfterSeconds });
  await settleQueue.start();
  const reversalQueue = new ReversalQueue({ db, boss: queue.boss, payments, outbox, log });
  await reversalQueue.start();
  const vatIdQueue = new VatIdQueue({ db, boss: queue.boss, payments, log });
  await vatIdQueue.start();
  const documents = paymentProcessor && (await openDocumentStore(paymentProcessor, log));
  const documentQueue = new DocumentQueue({ db, boss: queue.boss, payments, documents, log });
  await documentQueue.start();
  // Sweeps are called by the tests alone.
  const sweepCron = '0 0 1 1 *';
  const network = { privateHosts: webhookPrivateHosts, resolve: resolveWebhookHost };
  const alertWebhooks = new AlertWebhooks({ db, boss: queue.boss, network, log });
  await alertWebhooks.start();
  const balanceWatch = new BalanceWatch({
    db,
    boss: queue.boss,
    outbox,
    settleQueue,
    alertWebhooks,
    payments,
    log,
    sweepCron,
  });
  await balanceWatch.start();
  const app = createApp({
    db,
    payments,
    settleQueue,
    vatIdQueue,
    documents,
    documentQueue,
    reversalQueue,
    balanceWatch,
    webhookPrivateHosts,
    outbox,
    providers: knownProviders,
    accountOrigin,
    regionHosts,
    welcomeCredit: { nanoUsd: 5_000_000_000n },
    byAddress: throttle(),
    byMailbox: throttle(),
    byUser: createThrottle({ ...userLimits, maxNames: 1_000 }),
    trustedHops,
    pages,
    signingKey: fleet.keyOf('control-plane'),
    log,
    telemetry,
  });
  const server = await listen(app, { host: '127.0.0.1', port });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  function openBrowser(): Browser {
    const cookies = new Map<string, string>();
    async function send(
      method: string,
      path: string,
      body?: unknown,
      headers: Record<string, string> = {},
    ): Promise<Answer> {
      const response = await fetch(url + path, {
        method,
        redirect: 'manual',
        headers: {
          'sec-fetch-site': 'same-origin',
          cookie: [...cookies].map((pair) => pair.join('=')).join('; '),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      for (const cookie of response.headers.getSetCookie()) {
        const [, name = '', value = '', isOver] = /^([^=]+)=([^;]*)(; Max-Age=0)?/.exec(cookie) ?? [];
        if (isOver) cookies.delete(name);
        else cookies.set(name, value);
      }
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text.startsWith('{') ? JSON.parse(text) : text,
      };
    }
    return { cookies, send, get: (path) => send('GET', path), post: (path, body = {}) => send('POST', path, body) };
  }

  async function readToken(address: string, isNewerThan = 0): Promise<string> {
    const mail = await until(`a mail to ${address}`, () =>
      mails.slice(isNewerThan).findLast(({ to }) => to === address),
    );
    // Quoted-printable breaks long lines by `=` at their end.
    const [, token = ''] = /#([A-Za-z0-9_-]{43})/.exec(mail.text.replaceAll(/=\r?\n/g, '')) ?? [];
    return token;
  }

  return {
    db,
    url,
    mails,
    payments,
    settleQueue,
    reversalQueue,
    vatIdQueue,
    documentQueue,
    balanceWatch,
    outbox,
    openBrowser,
    readToken,
    async follow(browser, url, provider) {
      const { pathname, search } = await signInAt(url, provider);
      const { status, headers } = await browser.get(pathname + search);
      if (status !== 303) throw new Error(`${pathname} answered ${status}`);
      return headers.get('location') ?? '';
    },
    async signIn(address) {
      const browser = openBrowser();
      const before = mails.length;
      await browser.post('/account/sign-in/link', { address });
      const { body } = await browser.post('/account/sign-in/link/complete', {
        token: await readToken(address, before),
      });
      return { ...browser, userId: body.user_id };
    },
    async stop() {
      await drain([server], { settleMs: 0 });
      await watching.close();
      await queue.close();
      await documents?.close();
      outbox.close();
      await db.$disconnect();
      await new Promise<void>((resolve) => mailServer.close(() => resolve()));
      await postgres.stop();
    },
  };
}
