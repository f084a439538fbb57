import { createAuthenticator } from '@turnpike/authentication/createAuthenticator';
import { usageRecorded } from '@turnpike/events/usageRecorded';
import { startService } from '@turnpike/http-service/startService';
import { catalogApi } from '@turnpike/internal-api/catalog';
import { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { createClient } from '@turnpike/internal-api/transport/createClient';
import { repeat } from '@turnpike/lifecycle/repeat';
import { untilDatabaseAnswers } from '@turnpike/postgres/untilDatabaseAnswers';
import { LOOK_UP_CONNECTIONS, listRoutes } from './app.ts';
import { configSchema } from './config.ts';
import { consumeUsageRecorded } from './consumers/usageRecorded.ts';
import { createAnnounceCredit } from './credits/addCredit.ts';
import { followCredits } from './credits/followCredits.ts';
import { observeCredit } from './credits/observeCredit.ts';
import { takeBackCredit } from './credits/takeBacks.ts';
import { assertDurableCommits } from './database/assertDurableCommits.ts';
import { createDb, type Db } from './database/createDb.ts';
import { reportDays } from './day-totals/reportDays.ts';
import { createEventLogStore } from './event-log/createEventLogStore.ts';
import { dropReadRecords } from './event-log/dropReadRecords.ts';
import { ensureUsagePartitions } from './ledger/recordUsage.ts';
import type { AskedBooks } from './reconcile/createReconcileGate.ts';
import { createPriceList, createPricesOf } from './reconcile/priceList.ts';
import { reconcile } from './reconcile/reconcile.ts';
import { scheduleReconciliation } from './reconcile/scheduleReconciliation.ts';
import { sealBooks } from './reconcile/sealBooks.ts';
import { readRecoveryState } from './recovery/describeRecovery.ts';
import { followTimeline } from './recovery/followTimeline.ts';
import { observeRecovery } from './recovery/recoveryMetrics.ts';
import { forgetSilent } from './recovery/reportRouter.ts';

/** Timeout of statements that record and sum. They wait for locks, so they may take long. */
const STATEMENT_TIMEOUT_MS = 30_000;
/** Time that an authentication result is reused. A revoked key can read its usage for that time at most. */
const KEY_CACHE_TTL_MS = 5_000;
/** Concurrent requests to auth for read requests. Model calls go first. */
const QUESTIONS_AT_ONCE = 8;
/** Below the 10 s that routers wait for answers about recorded calls. */
const RECORDED_STATEMENT_TIMEOUT_MS = 6_000;
/**
 * Longest wait for a connection where no call waits. With a slow Postgres a new connection takes several of its
 * answers.
 */
const PATIENT_MS = 8_000;
const REPORT_STATEMENT_TIMEOUT_MS = 2_000;
const CLEANING_INTERVAL_MS = 60 * 60 * 1000;
/** Timeout of audit statements, which read the rows of open hours, and every row before the first seal. */
const AUDIT_STATEMENT_TIMEOUT_MS = 5 * 60 * 1000;
/** Part of a run for sealing. The rest of the run adds up the books. */
const SEALING_TIME_MS = 6 * 60 * 1000;
/** Interval in the region. The alert `BooksNotChecked` depends on it. */
const RECONCILE_INTERVAL_MS = 60 * 60 * 1000;
/** Time for the comparison with Redis, which needs a request to a router for each workspace. */
const AUDIT_REDIS_TIME_MS = 4 * 60 * 1000;
const ROUTER_TIMEOUT_MS = 2_000;
const CATALOG_TIMEOUT_MS = 5_000;
const DAY_MS = 24 * 60 * 60 * 1000;

startService({
  name: 'usage-ledger',
  schema: configSchema,
  async open({ config, log, telemetry, shutdown, internalHeaders, internalGuard }) {
    const { REGION: region, DATABASE_URL: databaseUrl } = config;
    const { LEDGER_TIMEOUT_MS: balancesTimeoutMs, USAGE_QUERY_TIMEOUT_MS: usageQueryTimeoutMs } = config;
    // One pool for each kind of work, so that none holds up another, however slow or often it is.
    const openPool = (name: string, poolSize: number, statementTimeoutMs: number, waitTimeoutMs?: number): Db => {
      const pool = createDb({ databaseUrl, poolSize, statementTimeoutMs, waitTimeoutMs });
      shutdown.defer(`postgres for ${name}`, () => pool.$disconnect());
      return pool;
    };
    const db = openPool('credits and the event log', 6, STATEMENT_TIMEOUT_MS);
    const recordingDb = openPool('recording', 5, STATEMENT_TIMEOUT_MS, PATIENT_MS);
    const balancesDb = openPool('balances', 4, balancesTimeoutMs, balancesTimeoutMs);
    const recordedDb = openPool('recorded calls', 3, RECORDED_STATEMENT_TIMEOUT_MS, PATIENT_MS);
    const reportDb = openPool('reports', 3, REPORT_STATEMENT_TIMEOUT_MS);
    const lookUpDb = openPool('look-ups', LOOK_UP_CONNECTIONS, usageQueryTimeoutMs);
    const auditDb = openPool('audits', 2, AUDIT_STATEMENT_TIMEOUT_MS);
    await untilDatabaseAnswers({ service: 'usage-ledger', databaseUrl, say: (line) => log.warn(line) });
    await assertDurableCommits(db, { copies: config.STORE_COPIES });
    await ensureUsagePartitions(db, [new Date(), new Date(Date.now() + 31 * DAY_MS)]);

    const { KAFKA_BROKERS: brokers, STORE_COPIES: copies } = config;
    const source = brokers ? { brokers, copies } : { store: createEventLogStore(db) };
    if (brokers) {
      const { assertDurableTopic } = await import('@turnpike/event-log/assertDurableTopic');
      await assertDurableTopic(usageRecorded.topic, { brokers, copies, log });
    }
    const consumer = await consumeUsageRecorded({ db: recordingDb, leaseDb: reportDb, log, telemetry, region, source });
    shutdown.defer('usage consumer', () => consumer.close());
    const timeline = followTimeline({ db: reportDb, consumer, topic: usageRecorded.topic, log });
    shutdown.defer('timeline', () => timeline.close());
    observeRecovery(telemetry.meter, () => readRecoveryState(reportDb));
    observeCredit(telemetry.meter, reportDb);
    const router = createClient(modelRouterApi, {
      url: config.ROUTER_INTERNAL_URL,
      internalHeaders,
      timeoutMs: ROUTER_TIMEOUT_MS,
    });
    const announceCredit = createAnnounceCredit(router);
    const creditFeed = followCredits({
      url: config.CONTROL_PLANE_INTERNAL_URL,
      internalHeaders,
      keys: config.INTERNAL_PUBLIC_KEYS,
      region,
      db,
      announceCredit,
      meter: telemetry.meter,
      log,
    });
    shutdown.defer('the feed of the account layer', async () => creditFeed?.close());
    const takingBack = takeBackCredit({
      url: config.CONTROL_PLANE_INTERNAL_URL,
      internalHeaders,
      db,
      router,
      announceCredit,
      log,
    });
    shutdown.defer('credit that the account layer wants back', async () => takingBack?.close());
    const reporting = reportDays({
      url: config.CONTROL_PLANE_INTERNAL_URL,
      internalHeaders,
      db,
      meter: telemetry.meter,
      log,
    });
    shutdown.defer('days for the account layer', async () => reporting?.close());
    const catalog = createClient(catalogApi, {
      url: config.CATALOG_INTERNAL_URL,
      internalHeaders,
      timeoutMs: CATALOG_TIMEOUT_MS,
    });
    const pricesOf = createPricesOf(catalog);
    const listPrices = createPriceList(pricesOf);
    const auditing = {
      auditDb,
      router,
      listPrices,
      redisTimeMs: AUDIT_REDIS_TIME_MS,
    };
    const reconciliation = scheduleReconciliation({
      db,
      log,
      telemetry,
      intervalMs: RECONCILE_INTERVAL_MS,
      async run({ afterWorkspace, signal }) {
        await sealBooks(auditDb, { listPrices, timeMs: SEALING_TIME_MS, signal }).catch((error: unknown) =>
          log.warn({ err: error }, 'hours not sealed, trying again in the next run'),
        );
        return reconcile(auditing, { afterWorkspace, signal });
      },
    });
    shutdown.defer('reconciliation', () => reconciliation.close());
    const clean = async (signal: AbortSignal): Promise<void> => {
      await forgetSilent(reportDb);
      await dropReadRecords(db, signal);
    };
    const cleaning = repeat(clean, {
      pauseMs: CLEANING_INTERVAL_MS,
      pausesFirst: true,
      log,
      failing: 'old records not dropped, trying again later',
    });
    shutdown.defer('cleaning', () => cleaning.close());

    return {
      log,
      telemetry,
      authenticator: createAuthenticator({
        authUrl: config.AUTH_INTERNAL_URL,
        region,
        internalHeaders,
        cacheTtlMs: KEY_CACHE_TTL_MS,
        timeoutMs: config.AUTH_TIMEOUT_MS,
        questionsAtOnce: QUESTIONS_AT_ONCE,
      }),
      lookUpsPerSecond: config.LOOK_UPS_PER_SECOND,
      tokenKeys: config.INTERNAL_PUBLIC_KEYS,
      lookUpDb,
      usageQueryTimeoutMs,
      pricesOf,
      serviceSegment: config.SERVICE_SEGMENT,
      keysPageUrl: config.KEYS_PAGE_URL,
      internalGuard,
      region,
      db,
      balancesDb,
      recordedDb,
      reportDb,
      readLag: () => consumer.lag(),
      announceCredit,
      creditFeed,
      reconcile: async (books: AskedBooks) => (await reconcile(auditing, books)).reports,
      store: 'store' in source ? source.store : undefined,
    };
  },
  routes: listRoutes,
});
