import { createAuthenticator } from '@turnpike/authentication/createAuthenticator';
import { createLookUpGuard } from '@turnpike/authentication/createLookUpGuard';
import { loadConfig } from '@turnpike/config/loadConfig';
import { drain, toDrainTimeoutMs } from '@turnpike/http-service/drain';
import { createInternalGuard } from '@turnpike/http-service/guard';
import { listen } from '@turnpike/http-service/listen';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { createKeyBoundMetrics } from '@turnpike/telemetry/keyBoundMetrics';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { createInternalApp, createPublicApp } from './app.ts';
import { findCatalogVersion } from './catalog/applyCatalog.ts';
import { followCatalogFile } from './catalog/followCatalogFile.ts';
import { followLiveModels } from './catalog/followLiveModels.ts';
import { createModelSwitch } from './catalog/switchModel.ts';
import { configSchema } from './config.ts';
import { createDb } from './database/createDb.ts';
import { createModelListThrottle } from './routes/throttleModelList.ts';

const SERVICE = 'catalog';
/** How long a verdict on a key is reused: a revoked key sees the list for at most so long. */
const KEY_CACHE_TTL_MS = 5_000;
/** Look-ups take no more of auth than this; what the model calls ask comes first. */
const QUESTIONS_AT_ONCE = 8;

async function main(): Promise<void> {
  const config = loadConfig(SERVICE, configSchema, process.env);
  const { REGION: region, LISTEN_HOST: host, INTERNAL_TOKEN_KEYS: keys } = config;
  const log = createLogger({ service: SERVICE, region, level: config.LOG_LEVEL });
  const shutdown = createShutdown({ log });
  const telemetry = startTelemetry({
    service: SERVICE,
    region: region,
    otlpEndpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
    traceSampleRatio: config.TRACE_SAMPLE_RATIO,
    log,
  });
  shutdown.defer('telemetry', () => telemetry.shutdown());
  const internalHeaders = createTokenIssuer({ service: SERVICE, keys });

  const db = createDb(config.DATABASE_URL);
  shutdown.defer('postgres', () => db.$disconnect());
  const catalog = await followCatalogFile({ db, path: config.CATALOG_FILE, region, log });
  shutdown.defer('catalog file', () => catalog.close());
  const live = followLiveModels({ routerUrl: config.ROUTER_INTERNAL_URL, internalHeaders, log });
  shutdown.defer('live models', () => live.close());
  const authenticator = createAuthenticator({
    authUrl: config.AUTH_INTERNAL_URL,
    region,
    internalHeaders,
    cacheTtlMs: KEY_CACHE_TTL_MS,
    timeoutMs: config.AUTH_TIMEOUT_MS,
    questionsAtOnce: QUESTIONS_AT_ONCE,
  });

  const internalGuard = createInternalGuard({ service: SERVICE, keys });
  const findVersion = (version: number) => findCatalogVersion(db, version, region);
  const switchModel = createModelSwitch({ db, catalog });
  const internal = await listen(
    createInternalApp({ log, telemetry, internalGuard, catalog, findVersion, switchModel }),
    {
      host,
      port: config.INTERNAL_PORT,
    },
  );
  const limits = { perAddressPerMinute: config.MODEL_LIST_PER_IP_PER_MINUTE, perMinute: config.MODEL_LIST_PER_MINUTE };
  const takeModelList = createModelListThrottle({ limits, keys });
  const keyGuard = createLookUpGuard({
    authenticator,
    lookUpsPerSecond: config.LOOK_UPS_PER_SECOND,
    tokenKeys: keys,
    metrics: createKeyBoundMetrics(telemetry.meter),
  });
  const publicApp = createPublicApp({
    log,
    telemetry,
    keyGuard,
    catalog,
    live,
    takeModelList,
  });
  const server = await listen(publicApp, { host, port: config.PORT });
  const ending = { settleMs: config.DRAIN_SETTLE_MS };
  shutdown.defer('listeners', () => drain([server, internal], ending), { timeoutMs: toDrainTimeoutMs(ending) });
  shutdown.onSignals();
  log.info({ port: config.PORT, version: catalog.current().version }, 'serving');
}

runMain(main);
