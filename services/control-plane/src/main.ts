import { startService } from '@turnpike/http-service/startService';
import { repeat } from '@turnpike/lifecycle/repeat';
import { sql } from '@turnpike/postgres/sql';
import { untilDatabaseAnswers } from '@turnpike/postgres/untilDatabaseAnswers';
import { resolveHost } from '@turnpike/request-reading/images/resolveHost';
import { createThrottle } from '@turnpike/request-throttle/createThrottle';
import { AlertWebhooks } from './alerts/alertWebhooks.ts';
import { createApp, listInternalRoutes } from './app.ts';
import { BalanceWatch } from './billing/balanceWatch.ts';
import { checkProcessor } from './billing/checkProcessor.ts';
import { DocumentQueue } from './billing/documentQueue.ts';
import { observeTopUps } from './billing/observeTopUps.ts';
import { openDocumentStore, openPayments } from './billing/paymentProcessor.ts';
import { ReversalQueue } from './billing/reversalQueue.ts';
import { SettleQueue } from './billing/settleQueue.ts';
import { VatIdQueue } from './billing/vatIdQueue.ts';
import { configSchema } from './config.ts';
import { openDatabase } from './database/openDatabase.ts';
import { removeOverdueCeremonies } from './identity/ceremonies.ts';
import { Provider } from './identity/providers.ts';
import { removeEndedSessions } from './identity/sessions.ts';
import { watchProviders } from './identity/watchProviders.ts';
import { openJobQueue } from './jobs/openJobQueue.ts';
import { postUsage } from './ledger/postUsage.ts';
import { Outbox } from './mail/outbox.ts';
import { readPages } from './pages/pages.ts';
import { observeRates } from './rates/observeRates.ts';

/** Attempts to sign in by one client address: a company behind one address has some a minute. */
const BY_ADDRESS = { requestsPerMinute: 20, burst: 60, maxNames: 100_000 };
/** Mails to one mailbox, whoever asks for them. */
const BY_MAILBOX = { requestsPerMinute: 0.2, burst: 5, maxNames: 100_000 };
/** Requests of one user: a page sends some ten. Each change is a line of the audit, which stays. */
const BY_USER = { requestsPerMinute: 600, burst: 600, maxNames: 100_000 };
const CLEAN_MS = 3_600_000;
const POST_USAGE_MS = 3_600_000;

startService({
  name: 'control-plane',
  schema: configSchema,
  async open({ config, log, telemetry, shutdown, internalGuard }) {
    const { DATABASE_URL: databaseUrl, ACCOUNT_ORIGIN: accountOrigin } = config;
    await untilDatabaseAnswers({ service: 'control-plane', databaseUrl, say: (line) => log.warn(line) });
    const db = openDatabase(databaseUrl);
    shutdown.defer('postgres', () => db.$disconnect());

    const { boss, close } = await openJobQueue(databaseUrl, log);
    shutdown.defer('job queue', close);
    const { meter } = telemetry;
    const outbox = new Outbox({
      db,
      boss,
      smtpUrl: config.SMTP_URL,
      from: config.MAIL_FROM,
      accountOrigin,
      meter,
      log,
    });
    await outbox.start();
    shutdown.defer('mail server', () => outbox.close());
    const providers = config.OIDC_PROVIDERS.map((settings) => new Provider(settings));
    const watching = watchProviders(providers, { meter, log });
    shutdown.defer('checks of identity providers', () => watching.close());

    const cleaning = repeat(
      async () => {
        await removeOverdueCeremonies(db);
        await removeEndedSessions(db);
      },
      { pauseMs: CLEAN_MS, log, failing: 'ended sessions cannot be removed: they stay, and are refused' },
    );
    shutdown.defer('cleaning', () => cleaning.close());
    const posting = repeat(() => postUsage(db), {
      ...{ pauseMs: POST_USAGE_MS, log },
      failing: 'ended days cannot be posted to the wallets: balances count them all the same',
    });
    shutdown.defer('posting of ended days', () => posting.close());
    observeRates(meter, db);
    const { PAYMENT_PROCESSOR: processor } = config;
    const payments = processor ? openPayments(processor) : undefined;
    if (payments) await checkProcessor(payments, log);
    const documents = processor ? await openDocumentStore(processor, log) : undefined;
    shutdown.defer('store of documents', async () => documents?.close());
    const vatIdQueue = new VatIdQueue({ db, boss, payments, log });
    await vatIdQueue.start();
    const documentQueue = new DocumentQueue({ db, boss, payments, documents, log });
    await documentQueue.start();
    const settleQueue = new SettleQueue({ db, boss, payments, outbox, log });
    await settleQueue.start();
    const reversalQueue = new ReversalQueue({ db, boss, payments, outbox, log });
    await reversalQueue.start();
    const network = { privateHosts: config.WEBHOOK_PRIVATE_HOSTS, resolve: resolveHost };
    const alertWebhooks = new AlertWebhooks({ db, boss, network, log });
    await alertWebhooks.start();
    const balanceWatch = new BalanceWatch({ db, boss, outbox, settleQueue, alertWebhooks, payments, log });
    await balanceWatch.start();
    observeTopUps(meter, db);

    return {
      db,
      outbox,
      providers,
      payments,
      settleQueue,
      reversalQueue,
      vatIdQueue,
      documents,
      documentQueue,
      balanceWatch,
      accountOrigin,
      webhookPrivateHosts: config.WEBHOOK_PRIVATE_HOSTS,
      regionHosts: config.REGION_HOSTS,
      welcomeCredit:
        config.WELCOME_CREDIT_NANO_USD === undefined ? undefined : { nanoUsd: config.WELCOME_CREDIT_NANO_USD },
      byAddress: createThrottle(BY_ADDRESS),
      byMailbox: createThrottle(BY_MAILBOX),
      byUser: createThrottle(BY_USER),
      trustedHops: config.TRUSTED_HOPS,
      pages: config.DASHBOARD_DIR === undefined ? undefined : await readPages(config.DASHBOARD_DIR),
      log,
      telemetry,
      signingKey: config.INTERNAL_SIGNING_KEY,
      internalGuard,
    };
  },
  routes: (dependencies) => ({
    public: createApp(dependencies),
    internal: listInternalRoutes(dependencies),
    readinessChecks: { postgres: () => dependencies.db.query(sql`SELECT 1`).then(() => true) },
  }),
});
