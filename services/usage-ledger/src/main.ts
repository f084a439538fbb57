import { createAuthenticator } from '@turnpike/authentication/createAuthenticator';
import { loadConfig } from '@turnpike/config/loadConfig';
import { drain, toDrainTimeoutMs } from '@turnpike/http-service/drain';
import { createInternalGuard } from '@turnpike/http-service/guard';
import { listen } from '@turnpike/http-service/listen';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { createInternalApp, createPublicApp, LOOK_UP_CONNECTIONS } from './app.ts';
import { configSchema } from './config.ts';
import { consumeUsageRecorded } from './consumers/usageRecorded.ts';
import { createAnnounceCredit } from './credits/announceCredit.ts';
import { assertDurableCommits } from './database/assertDurableCommits.ts';
import { createDb } from './database/createDb.ts';
import { createEventLogStore } from './event-log/createEventLogStore.ts';
import { dropReadRecords } from './event-log/dropReadRecords.ts';
import { ensureUsagePartitions } from './ledger/ensureUsagePartitions.ts';
import { createPriceBook } from './reconcile/priceList.ts';
import { reconcile } from './reconcile/reconcile.ts';
import { scheduleReconciliation } from './reconcile/scheduleReconciliation.ts';

const SERVICE = 'usage-ledger';
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
const DAY_MS = 24 * 60 * 60 * 1000;

async function main(): Promise<void> {
  const config = loadConfig(SERVICE, configSchema, process.env);
  const log = createLogger({ service: SERVICE, region: config.REGION, level: config.LOG_LEVEL });
  const shutdown = createShutdown({ log });

  const telemetry = startTelemetry({
    service: SERVICE,
    region: config.REGION,
    otlpEndpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
    traceSampleRatio: config.TRACE_SAMPLE_RATIO,
    log,
  });
  shutdown.defer('telemetry', () => telemetry.shutdown());
  const { DATABASE_URL: databaseUrl, USAGE_QUERY_TIMEOUT_MS: usageQueryTimeoutMs } = config;
  const db = createDb({ databaseUrl, poolSize: 10, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
  shutdown.defer('postgres', () => db.$disconnect());
  // A pool of their own, so that slow look-ups cannot hold up the recording of calls.
  const lookUpDb = createDb({ databaseUrl, poolSize: LOOK_UP_CONNECTIONS, statementTimeoutMs: usageQueryTimeoutMs });
  shutdown.defer('postgres for look-ups', () => lookUpDb.$disconnect());
  await assertDurableCommits(db);
  await ensureUsagePartitions(db, [new Date(), new Date(Date.now() + 31 * DAY_MS)]);

  const source = config.KAFKA_BROKERS ? { brokers: config.KAFKA_BROKERS } : { store: createEventLogStore(db) };
  const consumer = consumeUsageRecorded({ db, log, telemetry, region: config.REGION, source });
  shutdown.defer('usage consumer', () => consumer.close());
  const auditDb = createDb({ databaseUrl, poolSize: 2, statementTimeoutMs: AUDIT_STATEMENT_TIMEOUT_MS });
  shutdown.defer('postgres for audits', () => auditDb.$disconnect());
  const internalHeaders = createTokenIssuer({ service: SERVICE, keys: config.INTERNAL_TOKEN_KEYS });
  const router = { routerUrl: config.ROUTER_INTERNAL_URL, internalHeaders };
  const reconcileBooks = (workspaceId: string | undefined) => reconcile(auditing, workspaceId);
  const auditing = {
    db: auditDb,
    auditDb,
    consumer,
    router,
    listPrices: createPriceBook({ catalogUrl: config.CATALOG_INTERNAL_URL, internalHeaders }),
    redisTimeMs: AUDIT_REDIS_TIME_MS,
  };
  const reconciliation = scheduleReconciliation({
    db,
    log,
    telemetry,
    intervalMs: config.RECONCILE_INTERVAL_SECONDS * 1_000,
    run: () => reconcileBooks(undefined),
  });
  shutdown.defer('reconciliation', () => reconciliation.close());
  const cleaning = setInterval(() => {
    dropReadRecords(db).catch((error: unknown) =>
      log.warn({ err: error }, 'old records not dropped, trying again later'),
    );
  }, CLEANING_INTERVAL_MS);
  shutdown.defer('cleaning', () => clearInterval(cleaning));

  const keys = config.INTERNAL_TOKEN_KEYS;
  const authenticator = createAuthenticator({
    authUrl: config.AUTH_INTERNAL_URL,
    region: config.REGION,
    internalHeaders,
    cacheTtlMs: KEY_CACHE_TTL_MS,
    timeoutMs: config.AUTH_TIMEOUT_MS,
    questionsAtOnce: QUESTIONS_AT_ONCE,
  });
  const internalGuard = createInternalGuard({ service: SERVICE, keys });
  const store = 'store' in source ? source.store : undefined;
  const internalApp = createInternalApp({
    log,
    telemetry,
    internalGuard,
    region: config.REGION,
    db,
    lookUpDb,
    consumer,
    announceCredit: createAnnounceCredit(router),
    reconcile: reconcileBooks,
    store,
  });
  const internalServer = await listen(internalApp, { host: config.LISTEN_HOST, port: config.INTERNAL_PORT });
  const serviceSegment = config.SERVICE_SEGMENT;
  const publicApp = createPublicApp({
    log,
    telemetry,
    authenticator,
    lookUpsPerSecond: config.LOOK_UPS_PER_SECOND,
    tokenKeys: keys,
    lookUpDb,
    usageQueryTimeoutMs,
    serviceSegment,
    keysPageUrl: config.KEYS_PAGE_URL,
  });
  const publicServer = await listen(publicApp, { host: config.LISTEN_HOST, port: config.PORT });
  const ending = { settleMs: config.DRAIN_SETTLE_MS };
  shutdown.defer('listeners', () => drain([publicServer, internalServer], ending), {
    timeoutMs: toDrainTimeoutMs(ending),
  });
  shutdown.onSignals();
  log.info({ port: config.PORT, internalPort: config.INTERNAL_PORT }, 'serving');
}

runMain(main);
