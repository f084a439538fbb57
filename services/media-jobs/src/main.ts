import { join } from 'node:path';
import { createAuthenticator } from '@turnpike/authentication/createAuthenticator';
import { LONGEST_MEDIA_SILENCE_MS } from '@turnpike/config/longestAnswers';
import { startService } from '@turnpike/http-service/startService';
import { followCatalog } from '@turnpike/internal-api/transport/followCatalog';
import { openObjectStore } from '@turnpike/object-store/openObjectStore';
import { Database } from '@turnpike/postgres/database';
import { untilDatabaseAnswers } from '@turnpike/postgres/untilDatabaseAnswers';
import { createFairSlots } from '@turnpike/request-reading/shares/fairSlots';
import { createKeyAllowance } from '@turnpike/request-reading/shares/keyAllowance';
import { createInferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { createMediaMetrics } from '@turnpike/telemetry/mediaMetrics';
import { listRoutes } from './app.ts';
import { createBackends } from './backends/createBackends.ts';
import { createReplicaTurns } from './backends/replicaTurns.ts';
import { clipSettingsOf, toMediaCatalog } from './catalog/mediaCatalog.ts';
import { configSchema } from './config.ts';
import { openJobs } from './jobs/openJobs.ts';
import { watchStore } from './jobs/watchStore.ts';
import { createMedia } from './media/createMedia.ts';
import { openMoney } from './money/openMoney.ts';
import { openRequests } from './request/openRequests.ts';

/** Life of a key's verdict, as in the other services: a revoked key reads no job after that. */
const KEY_CACHE_TTL_MS = 5_000;
/** Connections to auth, several times its concurrent work, so that requests do not wait for connections. */
const QUESTIONS_AT_ONCE = 32;
/** Connections to the database. Statements touch a few rows each. */
const POOL_SIZE = 20;
/** Concurrent read requests of jobs, each on a connection of its own. Others wait in turn, by workspace and key. */
const LOOK_UPS = { inAll: 6, perWorkspace: 4, waitingPerKey: 100 };
/** Outputs that clients read at once: less than the store has connections for them, because jobs read as well. */
const CONTENTS = { inAll: 56, perWorkspace: 48, waitingPerKey: 100 };
const STATEMENT_TIMEOUT_MS = 5_000;
/**
 * CPU time for recordings that are then refused, because these take nothing of a key's rate: 10 s at once, and as much
 * each minute.
 */
const REFUSED_DECODING = { bound: 'refused_recordings', capacity: 10_000, refillMs: 60_000, least: 50 } as const;
/** Least engine time that a cancelled job counts. */
const LEAST_RUN_MS = 10_000;
/** Time for jobs at work to end, and for their last steps. */
const JOBS_TIMEOUT_MS = 30_000;

startService({
  name: 'media-jobs',
  schema: configSchema,
  async open(base) {
    const { config, log, telemetry, shutdown, internalHeaders, internalGuard } = base;
    const region = config.REGION;
    const metrics = createInferenceMetrics(telemetry.meter);
    const mediaMetrics = createMediaMetrics(telemetry.meter);
    const openPool = (name: string, poolSize: number): Database => {
      const pool = new Database({
        service: 'media-jobs',
        databaseUrl: config.DATABASE_URL,
        poolSize,
        statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      });
      shutdown.defer(`postgres for ${name}`, () => pool.close());
      return pool;
    };
    const db = openPool('jobs', POOL_SIZE);
    const lookUpDb = openPool('look-ups', LOOK_UPS.inAll);
    await untilDatabaseAnswers({
      service: 'media-jobs',
      databaseUrl: config.DATABASE_URL,
      say: (line) => log.warn(line),
    });
    const opened = await openObjectStore(config, { log });
    shutdown.defer('object store', () => opened.close());
    const { store, ...storeWatch } = watchStore(opened, { metrics: mediaMetrics, log });
    shutdown.defer('look at the object store', () => storeWatch.close());
    const money = await openMoney(base, metrics);
    const catalog = followCatalog({
      catalogUrl: config.CATALOG_INTERNAL_URL,
      internalHeaders,
      toView: toMediaCatalog,
      log,
    });
    shutdown.defer('catalog', () => catalog.close());
    const backends = createBackends({ file: config.MEDIA_BACKENDS_FILE, metrics, log });
    shutdown.defer('backends', () => backends.close());
    const replicas = createReplicaTurns(backends, mediaMetrics);
    mediaMetrics.observeBackends(backends.list);
    mediaMetrics.observeCalls(replicas.running);
    // Emptied first: both folders are in it.
    const requests = await openRequests({
      folder: join(config.UPLOAD_DIR, 'uploads'),
      memoryMaxBytes: config.BODIES_MAX_BYTES,
      diskMaxBytes: config.UPLOADS_MAX_BYTES,
      imagesTimeoutMs: config.IMAGES_TIMEOUT_MS,
      imagePrivateHosts: config.IMAGE_PRIVATE_HOSTS,
    });
    mediaMetrics.observeUploads(requests.uploads, config.UPLOADS_MAX_BYTES);
    const folder = join(config.UPLOAD_DIR, 'conversions');
    const media = await createMedia({ folder });
    mediaMetrics.observeDecoder(media.load);
    const authenticator = createAuthenticator({
      authUrl: config.AUTH_INTERNAL_URL,
      region,
      internalHeaders,
      cacheTtlMs: KEY_CACHE_TTL_MS,
      timeoutMs: config.AUTH_TIMEOUT_MS,
      questionsAtOnce: QUESTIONS_AT_ONCE,
    });
    const cancelledMs = config.CANCELLED_MINUTES_PER_KEY * 60_000;
    const cancelledRuns = createKeyAllowance({
      bound: 'cancelled_runs',
      capacity: cancelledMs,
      refillMs: cancelledMs,
      least: LEAST_RUN_MS,
    });
    const jobs = await openJobs({
      db,
      store,
      backends: { list: backends.listForJobs, dialectOf: backends.dialectOf },
      media,
      folder,
      money,
      region,
      clipSettingsOf: (model) => clipSettingsOf(catalog.current, model),
      disabledModels: () => catalog.current?.disabled ?? [],
      activePerKey: config.ACTIVE_JOBS_PER_KEY,
      queuedPerKey: config.QUEUED_JOBS_PER_KEY,
      onRunCancelled: ({ keyId, ranMs }) => void cancelledRuns.take(keyId, ranMs),
      lookUpDb,
      metrics: mediaMetrics,
      log,
    });
    shutdown.defer('jobs', () => jobs.close(), { timeoutMs: JOBS_TIMEOUT_MS });
    // Connections are closed by now, so only calls of departed clients are left.
    shutdown.defer('calls without a client', () => money.callBook.allEnded(), { timeoutMs: JOBS_TIMEOUT_MS });
    return {
      db,
      lookUpDb,
      money,
      storeWatch,
      authenticator,
      telemetry,
      internalGuard,
      lookUpsPerSecond: config.LOOK_UPS_PER_SECOND,
      tokenKeys: config.INTERNAL_PUBLIC_KEYS,
      keysPageUrl: config.KEYS_PAGE_URL,
      routed: {
        catalog,
        backends,
        replicas,
        requests,
        media,
        authenticator,
        admission: { ...money, region, authenticator, metrics, log },
        findShortage: money.findShortage,
        cancelledRuns,
        refusedDecoding: createKeyAllowance(REFUSED_DECODING),
        callBook: money.callBook,
        jobs,
        contents: createFairSlots({ bound: 'contents', limits: CONTENTS, givesWay: true }),
        lookUps: createFairSlots({ bound: 'job_look_ups', limits: LOOK_UPS, givesWay: false }),
        publicUrl: config.PUBLIC_URL,
      },
    };
  },
  routes: listRoutes,
  longestAnswerMs: () => LONGEST_MEDIA_SILENCE_MS,
});
