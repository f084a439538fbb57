import { startService } from '@turnpike/http-service/startService';
import { createLookUpAuthenticator, listRoutes } from './app.ts';
import { configSchema } from './config.ts';
import { openDatabases } from './database/openDatabases.ts';
import { compareWorkspaces } from './feed/compareWorkspaces.ts';
import { followWorkspaces } from './feed/followWorkspaces.ts';
import { createRouterClient } from './router/routerClient.ts';

/**
 * How long a look-up reuses a verdict on a key. Changes by this process it knows at once: after one by another replica a
 * revoked key sees itself for at most so long.
 */
const KEY_CACHE_TTL_MS = 5_000;

startService({
  name: 'auth',
  schema: configSchema,
  async open({ config, log, telemetry, shutdown, internalHeaders, internalGuard }) {
    const { REGION: region, KEY_PEPPERS: peppers } = config;
    const databases = openDatabases(config.DATABASE_URL, { verdictTimeoutMs: config.AUTH_TIMEOUT_MS });
    shutdown.defer('postgres', () => databases.close());
    const router = createRouterClient({
      url: config.ROUTER_INTERNAL_URL,
      internalHeaders,
      timeoutMs: config.ROUTER_TIMEOUT_MS,
    });
    shutdown.defer('connections to the router', () => router.close());
    const authenticator = createLookUpAuthenticator({ ...databases, peppers, region, cacheTtlMs: KEY_CACHE_TTL_MS });
    const follower = {
      url: config.CONTROL_PLANE_INTERNAL_URL,
      internalHeaders,
      keys: config.INTERNAL_PUBLIC_KEYS,
      region,
      db: databases.db,
      meter: telemetry.meter,
      log,
    };
    const following = followWorkspaces({ ...follower, router, forgetVerdicts: () => authenticator.forgetAll() });
    shutdown.defer('the feed of the account layer', async () => following?.close());
    const comparing = following && compareWorkspaces({ ...follower, following });
    shutdown.defer('the comparison with the account layer', async () => comparing?.close());
    return {
      log,
      telemetry,
      ...databases,
      region,
      peppers,
      router,
      authenticator,
      lookUpsPerSecond: config.LOOK_UPS_PER_SECOND,
      tokenKeys: config.INTERNAL_PUBLIC_KEYS,
      internalGuard,
      serviceSegment: config.SERVICE_SEGMENT,
      keysPageUrl: config.KEYS_PAGE_URL,
    };
  },
  routes: listRoutes,
});
