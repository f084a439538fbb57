import { createAuthenticator } from '@turnpike/authentication/createAuthenticator';
import { startService } from '@turnpike/http-service/startService';
import { followCatalog } from '@turnpike/internal-api/transport/followCatalog';
import { createInferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { openAnswers } from './answer/openAnswers.ts';
import { LISTEN_ON_MS } from './answer/streamAttempt.ts';
import { listRoutes } from './app.ts';
import { toCatalog } from './catalog/catalog.ts';
import { configSchema, toKubernetesApi } from './config.ts';
import { openMoney } from './money/openMoney.ts';
import { openFleet } from './placement/openFleet.ts';

/** Longest use of a revoked key, while auth answers, if the router missed the revocation. */
const KEY_CACHE_TTL_MS = 30_000;
/** With the renewal at half of the time above, a key in use works for 30 s after auth is down. */
const KEY_GRACE_MS = KEY_CACHE_TTL_MS / 2;
/** Connections to auth, several times its concurrent work, so that requests do not wait for connections. */
const QUESTIONS_AT_ONCE = 32;

/** Longest time of a stream that its client has left, and a second for its record. */
const LEFT_CALLS_MS = LISTEN_ON_MS + 1_000;

startService({
  name: 'model-router',
  schema: configSchema,
  async open(base) {
    const { config, log, telemetry, shutdown, internalHeaders, internalGuard } = base;
    const metrics = createInferenceMetrics(telemetry.meter);
    const money = await openMoney(base, metrics);
    const fleet = openFleet(base, { shards: money.shards, kubernetes: toKubernetesApi(config), metrics });
    const catalog = followCatalog({
      catalogUrl: config.CATALOG_INTERNAL_URL,
      internalHeaders,
      toView: toCatalog,
      log,
    });
    shutdown.defer('catalog', () => catalog.close());
    const authenticator = createAuthenticator({
      authUrl: config.AUTH_INTERNAL_URL,
      region: config.REGION,
      internalHeaders,
      cacheTtlMs: KEY_CACHE_TTL_MS,
      graceMs: KEY_GRACE_MS,
      timeoutMs: config.AUTH_TIMEOUT_MS,
      questionsAtOnce: QUESTIONS_AT_ONCE,
    });
    // Connections are closed by now, so only calls of departed clients are left.
    shutdown.defer('calls without a client', () => money.openCalls.allEnded(), { timeoutMs: LEFT_CALLS_MS });
    return {
      log,
      region: config.REGION,
      keysPageUrl: config.KEYS_PAGE_URL,
      tokenKeys: config.INTERNAL_PUBLIC_KEYS,
      internalGuard,
      money,
      fleet,
      catalog,
      authenticator,
      answers: openAnswers(base, { money, fleet, authenticator, metrics }),
    };
  },
  routes: listRoutes,
  longestAnswerMs: (config) => config.STREAM_TIMEOUT_MS,
  cutAnswers: ({ answers }) => answers.dependencies.streams.cutAll(),
});
