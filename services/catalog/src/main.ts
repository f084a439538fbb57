import { createAuthenticator } from '@turnpike/authentication/createAuthenticator';
import { createLookUpGuard } from '@turnpike/authentication/createLookUpGuard';
import { startService } from '@turnpike/http-service/startService';
import { untilDatabaseAnswers } from '@turnpike/postgres/untilDatabaseAnswers';
import { shareThrottles } from '@turnpike/request-throttle/shareThrottles';
import { createKeyBoundMetrics } from '@turnpike/telemetry/keyBoundMetrics';
import { listRoutes } from './app.ts';
import { findCatalogVersion, listVersions } from './catalog/applyCatalog.ts';
import { followCatalogFile } from './catalog/followCatalogFile.ts';
import { followLiveModels } from './catalog/followLiveModels.ts';
import { createModelSwitch } from './catalog/switchModel.ts';
import { configSchema } from './config.ts';
import { createDb } from './database/createDb.ts';
import { createModelListThrottle } from './routes/throttleModelList.ts';

/** How long a verdict on a key is reused: a revoked key sees the list for at most so long. */
const KEY_CACHE_TTL_MS = 5_000;
/** Look-ups take no more of auth than this; what the model calls ask comes first. */
const QUESTIONS_AT_ONCE = 8;

startService({
  name: 'catalog',
  schema: configSchema,
  async open({ config, log, telemetry, shutdown, internalHeaders, internalGuard }) {
    const { REGION: region, INTERNAL_PUBLIC_KEYS: keys } = config;
    const db = createDb(config.DATABASE_URL);
    shutdown.defer('postgres', () => db.$disconnect());
    await untilDatabaseAnswers({ service: 'catalog', databaseUrl: config.DATABASE_URL, say: (line) => log.warn(line) });
    const catalog = await followCatalogFile({ db, path: config.CATALOG_FILE, region, log });
    shutdown.defer('catalog file', () => catalog.close());
    const live = followLiveModels({
      routerUrl: config.ROUTER_INTERNAL_URL,
      mediaUrl: config.MEDIA_INTERNAL_URL,
      internalHeaders,
      log,
    });
    shutdown.defer('live models', () => live.close());

    const authenticator = createAuthenticator({
      authUrl: config.AUTH_INTERNAL_URL,
      region,
      internalHeaders,
      cacheTtlMs: KEY_CACHE_TTL_MS,
      timeoutMs: config.AUTH_TIMEOUT_MS,
      questionsAtOnce: QUESTIONS_AT_ONCE,
    });
    const { guard: keyGuard } = createLookUpGuard({
      authenticator,
      lookUpsPerSecond: config.LOOK_UPS_PER_SECOND,
      tokenKeys: keys,
      metrics: createKeyBoundMetrics(telemetry.meter),
    });
    const limits = {
      perAddressPerMinute: config.MODEL_LIST_PER_IP_PER_MINUTE,
      perMinute: config.MODEL_LIST_PER_MINUTE,
    };
    const { takeModelList, throttles } = createModelListThrottle({ limits, keys });
    const sharing = shareThrottles(throttles, { urls: config.REDIS_URL, log, meter: telemetry.meter });
    shutdown.defer('shared limits', () => sharing.close());
    return {
      log,
      internalGuard,
      tokenKeys: keys,
      keyGuard,
      catalog,
      live,
      takeModelList,
      findVersion: (version: number) => findCatalogVersion(db, version, region),
      listVersions: (page: { before: number; limit: number }) => listVersions(db, page),
      switchModel: createModelSwitch({ db, catalog }),
      keysPageUrl: config.KEYS_PAGE_URL,
    };
  },
  routes: listRoutes,
});
