import { randomUUID } from 'node:crypto';
import { createAuthenticator } from '@turnpike/authentication/createAuthenticator';
import { createKeyGuard } from '@turnpike/authentication/keyGuard';
import { loadConfig } from '@turnpike/config/loadConfig';
import { createEmbeddedProducer } from '@turnpike/event-log/createEmbeddedProducer';
import { createKafkaProducer } from '@turnpike/event-log/createKafkaProducer';
import { drain, toDrainTimeoutMs } from '@turnpike/http-service/drain';
import { createInternalGuard } from '@turnpike/http-service/guard';
import { listen } from '@turnpike/http-service/listen';
import { createTokenIssuer } from '@turnpike/internal-auth/internalToken';
import { createShutdown } from '@turnpike/lifecycle/createShutdown';
import { runMain } from '@turnpike/lifecycle/runMain';
import { createLogger } from '@turnpike/logging/createLogger';
import { createInferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { createToWireError } from './api/chatError.ts';
import { createInternalApp, createPublicApp } from './app.ts';
import { followCatalog } from './catalog/followCatalog.ts';
import { configSchema, toKubernetesApi } from './config.ts';
import { createEngineRegistry } from './fleet/engineRegistry.ts';
import { followOperatorDrains } from './fleet/operatorDrains.ts';
import { createPlacer } from './fleet/placement/placer.ts';
import { createPromptCounter } from './fleet/promptCounter.ts';
import { createEngineQueue } from './fleet/queue/engineQueue.ts';
import { createCacheSalt } from './fleet/vllm/cacheSalt.ts';
import { createBalanceLoader } from './money/balances/loadBalances.ts';
import { createCallBook } from './money/call/callBook.ts';
import { createCallEndings } from './money/call/endCall.ts';
import { HeldCalls } from './money/call/heldCalls.ts';
import { publishEvents } from './money/call/publishEvents.ts';
import { retryReleases } from './money/call/retryReleases.ts';
import { sweepCalls } from './money/call/sweepCalls.ts';
import { createAssertCall } from './money/epoch/assertCall.ts';
import { createEpochMark } from './money/epoch/epochMark.ts';
import { followEpoch } from './money/epoch/followEpoch.ts';
import { publishKeptEvents } from './money/epoch/publishKeptEvents.ts';
import { createLedgerReports } from './money/epoch/reportToLedger.ts';
import { createAdmit } from './money/gate/admit.ts';
import { connectRedis } from './money/redis/connectRedis.ts';
import { RedisEpoch } from './money/redis/redisEpoch.ts';
import { openSpoolFolder } from './money/spool/openSpoolFolder.ts';
import { Spool } from './money/spool/spool.ts';
import { createImageLoader } from './request/images/createImageLoader.ts';
import { resolveHost } from './request/images/resolveHost.ts';
import { createBodyMemory } from './request/shares/bodyMemory.ts';
import { createKeyAllowance } from './request/shares/keyAllowance.ts';
import { createChatCompletion } from './routes/createChatCompletion.ts';
import { createCompletion } from './routes/createCompletion.ts';
import { createEmbedding } from './routes/createEmbedding.ts';
import type { InferenceDependencies } from './routes/createInference.ts';
import { drainEngine } from './routes/drainEngine.ts';
import { getEngines } from './routes/getEngines.ts';
import { getKeySpend } from './routes/getKeySpend.ts';
import { getLiveModels } from './routes/getLiveModels.ts';
import { getWorkspaceBooks } from './routes/getWorkspaceBooks.ts';
import { reloadBalances } from './routes/reloadBalances.ts';
import { setKeyGeneration } from './routes/setKeyGeneration.ts';

const KEY_CACHE_TTL_MS = 30_000;
/** Some times as many as auth works on at once: verdicts wait for each other, not for connections to be made. */
const QUESTIONS_AT_ONCE = 32;
/**
 * A call has at most 16 images: one workspace has four such calls on their way, and a key as many again three times in line.
 * Each fetch is a socket, and `inAll` is far below what a process may open.
 */
const IMAGE_FETCHES = { inAll: 256, perWorkspace: 64, waitingPerKey: 192 };
/** Longer than hosts that answer at all take for the images before; a client's own timeout is not reached by it. */
const IMAGE_WAIT_MS = 2_000;
/** Above these engines are spared: an embedding asks 16 questions at a time, so one workspace has two of those under way. */
const PROMPT_COUNTS = { inAll: 128, perWorkspace: 32, waitingPerKey: 128 };
/** Two of the longest prompts there are at once, and as much again every minute; any question costs an engine something. */
const REFUSED_COUNTS = {
  bound: 'prompt_counts',
  capacityBytes: 8 * 1_048_576,
  refillMs: 60_000,
  leastBytes: 4_096,
} as const;
const REFUSED_BODIES = { bound: 'refused_bodies', refillMs: 2_000, leastBytes: 1_024 } as const;
const PUBLISH_GRACE_MS = 5_000;

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
  const epoch = new RedisEpoch();
  const endings = retryReleases(createCallEndings(redis, { epoch }), { leaseMs });
  const ledgerUrl = config.LEDGER_INTERNAL_URL;
  const balances = createBalanceLoader({
    redis,
    ledgerUrl,
    internalHeaders,
    timeoutMs: config.LEDGER_TIMEOUT_MS,
    epoch,
  });

  const folder = await openSpoolFolder(config.SPOOL_DIR);
  shutdown.defer('spool folder', () => folder.release());
  const { routerId } = folder;
  const heldCalls = new HeldCalls();
  const reports = createLedgerReports({ ledgerUrl, internalHeaders, routerId, processId: randomUUID() });
  const spool = await Spool.open({ dir: config.SPOOL_DIR, maxBytes: config.SPOOL_MAX_BYTES, log });
  shutdown.defer('spool', () => spool.close());
  // Where something is left to bring, the ledger goes on counting on this router's return.
  shutdown.defer('router in the ledger', () =>
    heldCalls.size === 0 && !spool.hasUnread ? reports.leave() : undefined,
  );
  const eventLog = config.KAFKA_BROKERS
    ? createKafkaProducer({ brokers: config.KAFKA_BROKERS, log })
    : createEmbeddedProducer({ url: config.LEDGER_INTERNAL_URL, service: 'usage-ledger', internalHeaders });
  shutdown.defer('event log', () => eventLog.close());
  const publisher = publishEvents({ spool, eventLog, endings, heldCalls, epoch, metrics, log });
  shutdown.defer('publisher', () => publisher.close(PUBLISH_GRACE_MS));
  const sweeper = sweepCalls({ redis, endings, balances, epoch, eventLog, metrics, log, leaseMs });
  shutdown.defer('sweeper', () => sweeper.close());
  const callBook = createCallBook({ endings, spool, heldCalls, epoch, metrics, log, leaseMs });
  metrics.observe({
    openCalls: () => callBook.openCalls,
    spoolBytes: () => spool.unacknowledgedBytes,
    spoolLimitBytes: config.SPOOL_MAX_BYTES,
  });
  shutdown.defer('open calls', () => callBook.close());
  const follower = followEpoch({
    redis,
    epoch,
    reports,
    heldCalls,
    mark: createEpochMark(redis),
    balances,
    assertCall: createAssertCall(redis, { routerId, leaseMs }),
    publishKept: (unspooled) => publishKeptEvents({ redis, eventLog, unspooled }),
    isCaughtUp: () => publisher.isCaughtUp,
    hasUnread: () => spool.hasUnread,
    log,
  });
  shutdown.defer('epoch of Redis', () => follower.close());

  const drains = followOperatorDrains({ redis, log });
  shutdown.defer('engines held back', () => drains.close());
  const engines = createEngineRegistry({
    enginesFile: config.ENGINES_FILE,
    kubernetes: toKubernetesApi(config),
    isHeldBack: drains.has,
    metrics,
    log,
  });
  shutdown.defer('engines', () => engines.close());
  const placer = createPlacer();
  metrics.observeFleet({
    engines: engines.list,
    retriesLeft: () => engines.retries.left,
    tokensInFlightOn: placer.tokensInFlightOn,
  });
  const engineQueue = createEngineQueue({
    placer,
    queue: {
      maxCalls: config.QUEUE_MAX_CALLS,
      maxBytes: config.QUEUE_MAX_BYTES,
      keyShare: config.QUEUE_KEY_SHARE,
      timeoutMs: config.QUEUE_TIMEOUT_MS,
      expectedWaitMs: config.QUEUE_EXPECTED_WAIT_MS,
    },
    room: { calls: config.ENGINE_CALLS, tokens: config.ENGINE_TOKENS, keyShare: config.ENGINE_KEY_SHARE },
    metrics,
  });
  metrics.observeQueue(engineQueue.lengths);
  const catalog = followCatalog({ catalogUrl: config.CATALOG_INTERNAL_URL, internalHeaders, log });
  shutdown.defer('catalog', () => catalog.close());
  const authenticator = createAuthenticator({
    authUrl: config.AUTH_INTERNAL_URL,
    region,
    internalHeaders,
    cacheTtlMs: KEY_CACHE_TTL_MS,
    timeoutMs: config.AUTH_TIMEOUT_MS,
    questionsAtOnce: QUESTIONS_AT_ONCE,
  });

  const countPromptTokens = createPromptCounter({ engines, limits: PROMPT_COUNTS });
  const inference: InferenceDependencies = {
    authenticator,
    catalog,
    admission: {
      admit: createAdmit(redis, { epoch, routerId }),
      epoch,
      endings,
      balances,
      authenticator,
      countPromptTokens,
      refusedCounts: createKeyAllowance(REFUSED_COUNTS),
      leaseMs,
      metrics,
      log,
    },
    callBook,
    spool,
    cacheSaltOf: createCacheSalt(config.CACHE_SALT_KEYS),
    region,
    bodies: createBodyMemory(config.BODIES_MAX_BYTES),
    refusedBodies: createKeyAllowance({
      ...REFUSED_BODIES,
      capacityBytes: (config.REFUSED_BODIES_BYTES_PER_SECOND * REFUSED_BODIES.refillMs) / 1_000,
    }),
    house: {
      engines,
      engineQueue,
      images: createImageLoader({
        privateHosts: config.IMAGE_PRIVATE_HOSTS,
        resolve: resolveHost,
        times: { timeoutMs: config.IMAGES_TIMEOUT_MS, waitMs: IMAGE_WAIT_MS },
        limits: IMAGE_FETCHES,
      }),
      countPromptTokens,
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
    },
    log,
  };
  const handlers = {
    getEngines: getEngines({ catalog, engines, placer }),
    createChatCompletion: createChatCompletion(inference),
    createCompletion: createCompletion(inference),
    createEmbedding: createEmbedding(inference),
    getKeySpend: getKeySpend({ redis, balances, epoch }),
    getLiveModels: getLiveModels({ catalog, engines }),
    getWorkspaceBooks: getWorkspaceBooks({ redis, balances, epoch }),
    reloadBalances: reloadBalances({ balances, epoch }),
    drainEngine: drainEngine({ log, engines, drains, isDraining: true }),
    undrainEngine: drainEngine({ log, engines, drains, isDraining: false }),
    setKeyGeneration: setKeyGeneration({ redis }),
  };
  const isReady = () => catalog.current() !== undefined && epoch.isOpen;
  const internalGuard = createInternalGuard({ service: 'model-router', keys });
  const toWireError = createToWireError({ keysPageUrl: config.KEYS_PAGE_URL });
  const internalApp = createInternalApp({ handlers, internalGuard, isReady, toWireError, telemetry, log });
  const internal = await listen(internalApp, { host, port: config.INTERNAL_PORT });
  const keyGuard = createKeyGuard({ authenticator, tokenKeys: keys });
  const server = await listen(createPublicApp({ handlers, keyGuard, toWireError, telemetry, log }), {
    host,
    port: config.PORT,
  });
  // Told to stop, the router lets its streams end, however long they may be.
  const ending = { settleMs: config.DRAIN_SETTLE_MS, longestAnswerMs: config.STREAM_TIMEOUT_MS };
  shutdown.defer('listeners', () => drain([server, internal], ending), { timeoutMs: toDrainTimeoutMs(ending) });
  shutdown.onSignals();
  log.info({ port: config.PORT }, 'model-router is up');
}
runMain(main);
