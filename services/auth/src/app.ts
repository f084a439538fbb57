import {
  type CachingAuthenticator,
  createCachingAuthenticator,
} from '@turnpike/authentication/createCachingAuthenticator';
import { createLookUpGuard } from '@turnpike/authentication/createLookUpGuard';
import type { NamedSecret } from '@turnpike/config/secrets';
import type { Guard } from '@turnpike/http-service/guard';
import type { RouteTable, ServiceRoutes } from '@turnpike/http-service/serviceApps';
import type { Logger } from '@turnpike/logging/createLogger';
import { createKeyBoundMetrics } from '@turnpike/telemetry/keyBoundMetrics';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { RequestHandler } from 'express';
import { toInternalError, toPublicError } from './api/authServiceError.ts';
import type { Db } from './database/openDatabases.ts';
import { findKey } from './keys/findKey.ts';
import { createSpendReader } from './router/createSpendReader.ts';
import type { RouterClient } from './router/routerClient.ts';
import { getKey } from './routes/getKey.ts';
import { getKeyDetails } from './routes/getKeyDetails.ts';
import { getWorkspace } from './routes/getWorkspace.ts';
import { getWorkspaceKeys } from './routes/getWorkspaceKeys.ts';
import { getWorkspaces } from './routes/getWorkspaces.ts';
import { postKey } from './routes/postKey.ts';
import { postKeyRotation } from './routes/postKeyRotation.ts';
import { postKeyStatus } from './routes/postKeyStatus.ts';
import { postWorkspace } from './routes/postWorkspace.ts';
import { postWorkspaceHold } from './routes/postWorkspaceHold.ts';
import { putWorkspace } from './routes/putWorkspace.ts';
import { putWorkspaceCap } from './routes/putWorkspaceCap.ts';
import { verifyKey } from './routes/verifyKey.ts';

export interface AppDependencies {
  log: Logger;
  telemetry: Pick<Telemetry, 'meter'>;
  /** For verdicts alone. */
  verdictDb: Db;
  /** For everything else that the operator asks for, and readiness: no call and no look-up takes its connections. */
  db: Db;
  region: 'us' | 'eu';
  /** The first stores new keys, all are looked up. */
  peppers: NamedSecret[];
  router: RouterClient;
  /** Says to look-ups who is calling. Both apps have the same one. */
  authenticator: CachingAuthenticator;
  lookUpsPerSecond: number;
  /** The clock of that limit, which only goes forward, in milliseconds; the machine's unless given. */
  now?: () => number;
  /** Keys that the edge signs the client's address with. */
  tokenKeys: NamedSecret[];
  internalGuard: Guard;
  /** The path segment of the look-ups, `svc` unless it was renamed. */
  serviceSegment: string;
  /** The page where people manage their API keys. */
  keysPageUrl: string;
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
  region: 'us' | 'eu';
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
  isReady: () => dependencies.db.$queryRaw`SELECT 1`.then(() => true),
});

/** The routes that clients reach through the edge. */
function listPublicRoutes(dependencies: AppDependencies): RouteTable {
  const { telemetry, router, serviceSegment, keysPageUrl } = dependencies;
  const guard = createLookUpGuard({ ...dependencies, metrics: createKeyBoundMetrics(telemetry.meter) });
  const getKeySpend = createSpendReader(router);
  return {
    toWireError: (error) => toPublicError(error, { keysPageUrl }),
    routes: [{ method: 'get', path: `/v1/${serviceSegment}/key`, guard, handler: getKey({ getKeySpend }) }],
  };
}

/** The routes for the other services and the operator. */
function listInternalRoutes(dependencies: AppDependencies): RouteTable {
  const { authenticator, internalGuard: guard } = dependencies;
  /** Once a change is answered, no look-up answers here from before it. Changes are rare, so all verdicts go. */
  const changing =
    (change: RequestHandler): RequestHandler =>
    async (...request) => {
      try {
        await change(...request);
      } finally {
        authenticator.forgetAll();
      }
    };
  return {
    toWireError: (error) => toInternalError(error, dependencies),
    routes: [
      { method: 'post', path: '/internal/keys/verify', guard, handler: verifyKey(dependencies) },
      { method: 'get', path: '/internal/workspaces', guard, handler: getWorkspaces(dependencies) },
      { method: 'post', path: '/internal/workspaces', guard, handler: changing(postWorkspace(dependencies)) },
      { method: 'get', path: '/internal/workspaces/:workspace_id', guard, handler: getWorkspace(dependencies) },
      {
        method: 'put',
        path: '/internal/workspaces/:workspace_id',
        guard,
        handler: changing(putWorkspace(dependencies)),
      },
      {
        method: 'put',
        path: '/internal/workspaces/:workspace_id/cap',
        guard,
        handler: changing(putWorkspaceCap(dependencies)),
      },
      {
        method: 'post',
        path: '/internal/workspaces/:workspace_id/hold',
        guard,
        handler: changing(postWorkspaceHold('hold', dependencies)),
      },
      {
        method: 'post',
        path: '/internal/workspaces/:workspace_id/release',
        guard,
        handler: changing(postWorkspaceHold('release', dependencies)),
      },
      {
        method: 'get',
        path: '/internal/workspaces/:workspace_id/keys',
        guard,
        handler: getWorkspaceKeys(dependencies),
      },
      { method: 'post', path: '/internal/keys', guard, handler: changing(postKey(dependencies)) },
      { method: 'get', path: '/internal/keys/:key_id', guard, handler: getKeyDetails(dependencies) },
      {
        method: 'post',
        path: '/internal/keys/:key_id/rotate',
        guard,
        handler: changing(postKeyRotation(dependencies)),
      },
      {
        method: 'post',
        path: '/internal/keys/:key_id/revoke',
        guard,
        handler: changing(postKeyStatus('revoke', dependencies)),
      },
      {
        method: 'post',
        path: '/internal/keys/:key_id/block',
        guard,
        handler: changing(postKeyStatus('block', dependencies)),
      },
      {
        method: 'post',
        path: '/internal/keys/:key_id/unblock',
        guard,
        handler: changing(postKeyStatus('unblock', dependencies)),
      },
    ],
  };
}
