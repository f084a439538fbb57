import { createAuthenticator } from '@turnpike/authentication/createAuthenticator';
import { createKeyGuard } from '@turnpike/authentication/keyGuard';
import { loadConfig } from '@turnpike/config/loadConfig';
import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import { createKafkaProducer } from '@turnpike/event-log/createKafkaProducer';
import { createInternalGuard } from '@turnpike/http-service/guard';
import { drain, listen } from '@turnpike/http-service/listen';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { createInferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { createAdmit } from './admission/admit.ts';
import { connectRedis } from './admission/connectRedis.ts';
import { createCallEndings } from './admission/endCall.ts';
import { createBalanceLoader } from './admission/loadBalances.ts';
import { createInternalApp, createPublicApp } from './app.ts';
import { followCatalog } from './catalog/followCatalog.ts';
import { configSchema } from './config.ts';
import { createCacheSalt } from './engines/cacheSalt.ts';
import { countPromptTokens } from './engines/countPromptTokens.ts';
import { createEngineRegistry } from './engines/engineRegistry.ts';
import { createChatCompletion } from './routes/createChatCompletion.ts';
import { createCompletion } from './routes/createCompletion.ts';
import { createEmbedding } from './routes/createEmbedding.ts';
import type { InferenceDependencies } from './routes/createInference.ts';
import { getEngines } from './routes/getEngines.ts';
import { getKeySpend } from './routes/getKeySpend.ts';
import { getLiveModels } from './routes/getLiveModels.ts';
import { setKeyGeneration } from './routes/setKeyGeneration.ts';
import { createCallBook } from './settlement/callBook.ts';
import { publishEvents } from './settlement/publishEvents.ts';
import { Spool } from './settlement/spool.ts';
import { sweepCalls } from './settlement/sweepCalls.ts';
import { createByteBudget } from './wire/byteBudget.ts';

const KEY_CACHE_TTL_MS = 30_000;
const PUBLISH_GRACE_MS = 5_000;
const SETTLE_GRACE_MS = 10_000;

async function main(): Promise<void> {
  const config = loadConfig('model-router', configSchema, process.env);
  const { REGION: region, LISTEN_HOST: host, LEASE_MS: leaseMs, INTERNAL_TOKEN_KEYS: keys } = config;
  const log = createLogger({ service: 'model-router', region, level: config.LOG_LEVEL });
  const shutdown = createShutdown({ log });
  const telemetry = startTelemetry({
    service: 'model-router',
    region,
    otlpEndpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT,
    traceSampleRatio: config.TRACE_SAMPLE_RATIO,
    log,
  });
  shutdown.defer('telemetry', () => telemetry.shutdown());
  const metrics = createInferenceMetrics(telemetry.meter);
  const internalHeaders = createTokenIssuer({ service: 'model-router', keys });

  const redis = connectRedis(config.REDIS_URL, { timeoutMs: config.REDIS_TIMEOUT_MS, log });
  shutdown.defer('redis', () => redis.disconnect());
  const endings = createCallEndings(redis);
  const balances = createBalanceLoader({ redis, ledgerUrl: config.LEDGER_INTERNAL_URL, internalHeaders });

  const spool = await Spool.open({ dir: config.SPOOL_DIR, maxBytes: config.SPOOL_MAX_BYTES, log });
  shutdown.defer('spool', () => spool.close());
  const eventLog = config.KAFKA_BROKERS
    ? createKafkaProducer({ brokers: config.KAFKA_BROKERS, log })
    : createEmbeddedProducer({ url: config.LEDGER_INTERNAL_URL, service: 'usage-ledger', internalHeaders });
  shutdown.defer('event log', () => eventLog.close());
  const publisher = publishEvents({ spool, eventLog, endings, log });
  shutdown.defer('publisher', () => publisher.close(PUBLISH_GRACE_MS));
  const sweeper = sweepCalls({ redis, endings, eventLog, metrics, log, leaseMs });
  shutdown.defer('sweeper', () => sweeper.close());
  const callBook = createCallBook({ endings, spool, metrics, log, leaseMs });
  metrics.observe({
    openCalls: () => callBook.openCalls,
    spoolBytes: () => spool.unacknowledgedBytes,
    spoolLimitBytes: config.SPOOL_MAX_BYTES,
  });
  shutdown.defer('open calls', () => callBook.close());

  const engines = createEngineRegistry({ enginesFile: config.ENGINES_FILE, metrics, log });
  shutdown.defer('engines', () => engines.close());
  const catalog = followCatalog({ catalogUrl: config.CATALOG_INTERNAL_URL, internalHeaders, log });
  shutdown.defer('catalog', () => catalog.close());
  const authenticator = createAuthenticator({
    authUrl: config.AUTH_INTERNAL_URL,
    region,
    internalHeaders,
    cacheTtlMs: KEY_CACHE_TTL_MS,
  });

  const inference: InferenceDependencies = {
    authenticator,
    catalog,
    engines,
    admission: {
      admit: createAdmit(redis),
      endings,
      balances,
      authenticator,
      countPromptTokens: (request, model) => countPromptTokens(engines, request, model),
      leaseMs,
      metrics,
      log,
    },
    callBook,
    spool,
    cacheSaltOf: createCacheSalt(config.CACHE_SALT_KEYS),
    region,
    timeouts: {
      firstEventMs: config.FIRST_EVENT_TIMEOUT_MS,
      betweenEventsMs: config.BETWEEN_EVENTS_TIMEOUT_MS,
      wholeMs: config.WHOLE_TIMEOUT_MS,
      streamMs: config.STREAM_TIMEOUT_MS,
      headersAfterMs: config.HEADERS_AFTER_MS,
      keepAliveMs: config.KEEP_ALIVE_MS,
      slowReaderMs: config.SLOW_READER_TIMEOUT_MS,
    },
    metrics,
    bodies: createByteBudget(config.BODIES_MAX_BYTES),
    log,
  };
  const handlers = {
    getEngines: getEngines({ catalog, engines }),
    createChatCompletion: createChatCompletion(inference),
    createCompletion: createCompletion(inference),
    createEmbedding: createEmbedding(inference),
    getKeySpend: getKeySpend({ redis, balances }),
    getLiveModels: getLiveModels({ catalog, engines }),
    setKeyGeneration: setKeyGeneration({ redis }),
  };
  const isReady = () => catalog.current() !== undefined && redis.status === 'ready';
  const internalGuard = createInternalGuard({ service: 'model-router', keys });
  const internal = await listen(createInternalApp({ handlers, internalGuard, isReady, telemetry, log }), {
    host,
    port: config.INTERNAL_PORT,
  });
  shutdown.defer('internal listener', () => drain(internal));
  const server = await listen(createPublicApp({ handlers, keyGuard: createKeyGuard(authenticator), telemetry, log }), {
    host,
    port: config.PORT,
  });
  // Told to stop, the router lets its streams end, however long they may be.
  shutdown.defer('http server', () => drain(server), { timeoutMs: config.STREAM_TIMEOUT_MS + SETTLE_GRACE_MS });
  shutdown.onSignals();
  log.info({ port: config.PORT }, 'model-router is up');
}
runMain(main);
