import { createAuthenticator } from '@turnpike/authentication/createAuthenticator';
import { startService } from '@turnpike/http-service/startService';
import { catalogApi } from '@turnpike/internal-api/catalog';
import { createClient } from '@turnpike/internal-api/createClient';
import { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { repeat } from '@turnpike/lifecycle/repeat';
import { LOOK_UP_CONNECTIONS, listRoutes } from './app.ts';
import { configSchema } from './config.ts';
import { consumeUsageRecorded } from './consumers/usageRecorded.ts';
import { createAnnounceCredit } from './credits/announceCredit.ts';
import { assertDurableCommits } from './database/assertDurableCommits.ts';
import { createDb } from './database/createDb.ts';
import { createEventLogStore } from './event-log/createEventLogStore.ts';
import { dropReadRecords } from './event-log/dropReadRecords.ts';
import { ensureUsagePartitions } from './ledger/ensureUsagePartitions.ts';
import { createPriceList } from './reconcile/priceList.ts';
import { reconcile } from './reconcile/reconcile.ts';
import { scheduleReconciliation } from './reconcile/scheduleReconciliation.ts';

/** Statements that record and sum; they wait for locks, so they may take long. */
const STATEMENT_TIMEOUT_MS = 30_000;
/** How long a verdict on a key is reused: a revoked key sees its usage for at most so long. */
const KEY_CACHE_TTL_MS = 5_000;
/** Look-ups take no more of auth than this; what the model calls ask comes first. */
const QUESTIONS_AT_ONCE = 8;
const CLEANING_INTERVAL_MS = 60 * 60 * 1000;
/** Adding up the books reads every row. */
const AUDIT_STATEMENT_TIMEOUT_MS = 5 * 60 * 1000;
/** Holding them against Redis asks a router for each workspace. */
const AUDIT_REDIS_TIME_MS = 4 * 60 * 1000;
const ROUTER_TIMEOUT_MS = 2_000;
const CATALOG_TIMEOUT_MS = 5_000;
const DAY_MS = 24 * 60 * 60 * 1000;

startService({
  name: 'usage-ledger',
  schema: configSchema,
  async open({ config, log, telemetry, shutdown, internalHeaders, internalGuard }) {
    const { REGION: region, DATABASE_URL: databaseUrl, USAGE_QUERY_TIMEOUT_MS: usageQueryTimeoutMs } = config;
    const db = createDb({ databaseUrl, poolSize: 10, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
    shutdown.defer('postgres', () => db.$disconnect());
    // A pool of their own, so that slow look-ups cannot hold up the recording of calls.
    const lookUpDb = createDb({ databaseUrl, poolSize: LOOK_UP_CONNECTIONS, statementTimeoutMs: usageQueryTimeoutMs });
    shutdown.defer('postgres for look-ups', () => lookUpDb.$disconnect());
    await assertDurableCommits(db);
    await ensureUsagePartitions(db, [new Date(), new Date(Date.now() + 31 * DAY_MS)]);

    const source = config.KAFKA_BROKERS ? { brokers: config.KAFKA_BROKERS } : { store: createEventLogStore(db) };
    const consumer = consumeUsageRecorded({ db, log, telemetry, region, source });
    shutdown.defer('usage consumer', () => consumer.close());
    const auditDb = createDb({ databaseUrl, poolSize: 2, statementTimeoutMs: AUDIT_STATEMENT_TIMEOUT_MS });
    shutdown.defer('postgres for audits', () => auditDb.$disconnect());
    const router = createClient(modelRouterApi, {
      url: config.ROUTER_INTERNAL_URL,
      internalHeaders,
      timeoutMs: ROUTER_TIMEOUT_MS,
    });
    const catalog = createClient(catalogApi, {
      url: config.CATALOG_INTERNAL_URL,
      internalHeaders,
      timeoutMs: CATALOG_TIMEOUT_MS,
    });
    const auditing = {
      db: auditDb,
      auditDb,
      consumer,
      router,
      listPrices: createPriceList(catalog),
      redisTimeMs: AUDIT_REDIS_TIME_MS,
    };
    const reconciliation = scheduleReconciliation({
      db,
      log,
      telemetry,
      intervalMs: config.RECONCILE_INTERVAL_SECONDS * 1_000,
      run: (signal) => reconcile(auditing, undefined, signal),
    });
    shutdown.defer('reconciliation', () => reconciliation.close());
    const cleaning = repeat((signal) => dropReadRecords(db, signal), {
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
      tokenKeys: config.INTERNAL_TOKEN_KEYS,
      lookUpDb,
      usageQueryTimeoutMs,
      serviceSegment: config.SERVICE_SEGMENT,
      keysPageUrl: config.KEYS_PAGE_URL,
      internalGuard,
      region,
      db,
      consumer,
      announceCredit: createAnnounceCredit(router),
      reconcile: (workspaceId: string | undefined) => reconcile(auditing, workspaceId),
      store: 'store' in source ? source.store : undefined,
    };
  },
  routes: listRoutes,
});
