import {
  type CachingAuthenticator,
  createCachingAuthenticator,
} from '@turnpike/authentication/createCachingAuthenticator';
import { createLookUpGuard } from '@turnpike/authentication/createLookUpGuard';
import type { PublicKey } from '@turnpike/config/internalKeys';
import type { Region } from '@turnpike/config/region';
import type { NamedSecret } from '@turnpike/config/secrets';
import { keysConsoleApi } from '@turnpike/console-api/console/keys';
import { serveConsoleApi } from '@turnpike/console-api/transport/serveConsoleApi';
import type { Guard } from '@turnpike/http-service/guard';
import type { RouteTable, ServiceRoutes } from '@turnpike/http-service/serviceApps';
import { authApi } from '@turnpike/internal-api/auth';
import { serveApi } from '@turnpike/internal-api/transport/serveApi';
import { sql } from '@turnpike/postgres/sql';
import { createKeyBoundMetrics } from '@turnpike/telemetry/keyBoundMetrics';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import { toInternalError, toPublicError } from './api/authServiceError.ts';
import type { Db } from './database/openDatabases.ts';
import { findKey } from './keys/findKey.ts';
import type { RouterClient } from './router/routerClient.ts';
import { shareReads } from './router/shareReads.ts';
import { createConsoleHandlers } from './routes/consoleHandlers.ts';
import { getCredit } from './routes/getCredit.ts';
import { getKey } from './routes/getKey.ts';
import type { HandlerDependencies } from './routes/handlerDependencies.ts';
import { createKeyHandlers } from './routes/keyHandlers.ts';
import { createWorkspaceHandlers } from './routes/workspaceHandlers.ts';

export interface AppDependencies extends Omit<HandlerDependencies, 'changing'> {
  telemetry: Pick<Telemetry, 'meter'>;
  router: RouterClient;
  /** Says to look-ups who is calling. Both apps have the same one. */
  authenticator: CachingAuthenticator;
  lookUpsPerSecond: number;
  /** The clock of that limit, which only goes forward, in milliseconds; the machine's unless given. */
  now?: () => number;
  /** Keys that the edge signs the client's address and the caller of a console route with. */
  tokenKeys: PublicKey[];
  internalGuard: Guard;
  /** The path segment of the look-ups, `svc` unless it was renamed. */
  serviceSegment: string;
  /** The page where people manage their API keys. */
  keysPageUrl: string | undefined;
}

/** Answers 'who is calling' for look-ups, from memory mostly. Wants a pool of connections that verdicts do not wait for. */
export function createLookUpAuthenticator({
  lookUpDb,
  peppers,
  region,
  cacheTtlMs,
}: {
  lookUpDb: Db;
  peppers: NamedSecret[];
  region: Region;
  cacheTtlMs: number;
}): CachingAuthenticator {
  return createCachingAuthenticator({
    findKey: (keySha256) => findKey(lookUpDb, { keySha256, peppers }),
    region,
    cacheTtlMs,
  });
}

export const listRoutes = (dependencies: AppDependencies): ServiceRoutes => ({
  public: listPublicRoutes(dependencies),
  internal: listInternalRoutes(dependencies),
  readinessChecks: { postgres: () => dependencies.db.query(sql`SELECT 1`).then(() => true) },
});

/** The routes that clients reach through the edge. */
function listPublicRoutes(dependencies: AppDependencies): RouteTable {
  const { telemetry, router, serviceSegment, keysPageUrl } = dependencies;
  const { guard } = createLookUpGuard({ ...dependencies, metrics: createKeyBoundMetrics(telemetry.meter) });
  const reads = { getKeySpend: shareReads(router.getKeySpend), getCredit: shareReads(router.getCredit) };
  return {
    toWireError: (error) => toPublicError(error, { keysPageUrl }),
    routes: [
      { method: 'get', path: `/v1/${serviceSegment}/key`, guard, handler: getKey(reads) },
      { method: 'get', path: `/v1/${serviceSegment}/credit`, guard, handler: getCredit(reads) },
    ],
  };
}

/** The routes for the other services and the operator. */
function listInternalRoutes(dependencies: AppDependencies): RouteTable {
  const { authenticator, internalGuard: guard } = dependencies;
  // Changes are rare, so all verdicts go.
  const changing: HandlerDependencies['changing'] = (change) => (asked, res) =>
    change(asked, res).finally(() => authenticator.forgetAll());
  return {
    toWireError: (error) => toInternalError(error, dependencies),
    routes: [
      ...serveApi(authApi, {
        guard,
        handlers: {
          ...createKeyHandlers({ ...dependencies, changing }),
          ...createWorkspaceHandlers({ ...dependencies, changing }),
        },
      }),
      ...serveConsoleApi(keysConsoleApi, {
        internalGuard: guard,
        keys: dependencies.tokenKeys,
        handlers: createConsoleHandlers({ ...dependencies, changing }),
      }),
    ],
  };
}
