import { loadConfig } from '@turnpike/config/loadConfig';
import { drain, toDrainTimeoutMs } from '@turnpike/http-service/drain';
import { createInternalGuard } from '@turnpike/http-service/guard';
import { listen } from '@turnpike/http-service/listen';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { createInternalApp, createLookUpAuthenticator, createPublicApp } from './app.ts';
import { configSchema } from './config.ts';
import { openDatabases } from './database/openDatabases.ts';
import { createRouterClient } from './router/routerClient.ts';

/**
 * How long a look-up reuses a verdict on a key. Changes by this process it knows at once: after one by another replica a
 * revoked key sees itself for at most so long.
 */
const KEY_CACHE_TTL_MS = 5_000;

async function main(): Promise<void> {
  const config = loadConfig('auth', configSchema, process.env);
  const log = createLogger({ service: 'auth', region: config.REGION, level: config.LOG_LEVEL });
  const shutdown = createShutdown({ log });
  const { INTERNAL_TOKEN_KEYS: keys, KEY_PEPPERS: peppers, REGION: region } = config;

  const telemetry = startTelemetry({
    service: 'auth',
    region: config.REGION,
    otlpEndpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
    traceSampleRatio: config.TRACE_SAMPLE_RATIO,
    log,
  });
  shutdown.defer('telemetry', () => telemetry.shutdown());
  const databases = openDatabases(config.DATABASE_URL, { verdictTimeoutMs: config.VERDICT_TIMEOUT_MS });
  shutdown.defer('postgres', () => databases.close());
  const internalHeaders = createTokenIssuer({ service: 'auth', keys });
  const router = createRouterClient({
    url: config.ROUTER_INTERNAL_URL,
    internalHeaders,
    timeoutMs: config.ROUTER_TIMEOUT_MS,
  });
  shutdown.defer('connections to the router', () => router.close());

  const dependencies = {
    log,
    telemetry,
    ...databases,
    region,
    peppers,
    router,
    authenticator: createLookUpAuthenticator({ ...databases, peppers, region, cacheTtlMs: KEY_CACHE_TTL_MS }),
    lookUpsPerSecond: config.LOOK_UPS_PER_SECOND,
    tokenKeys: keys,
    internalGuard: createInternalGuard({ service: 'auth', keys }),
    serviceSegment: config.SERVICE_SEGMENT,
    keysPageUrl: config.KEYS_PAGE_URL,
  };
  const host = config.LISTEN_HOST;
  const internalServer = await listen(createInternalApp(dependencies), { host, port: config.INTERNAL_PORT });
  const server = await listen(createPublicApp(dependencies), { host, port: config.PORT });
  const ending = { settleMs: config.DRAIN_SETTLE_MS };
  shutdown.defer('listeners', () => drain([server, internalServer], ending), { timeoutMs: toDrainTimeoutMs(ending) });

  shutdown.onSignals();
  log.info({ port: config.PORT, internalPort: config.INTERNAL_PORT }, 'auth listens');
}

runMain(main);
