import { assertUsable } from '@turnpike/authentication/assertUsable';
import { createKeyGuard } from '@turnpike/authentication/keyGuard';
import { parseAuthorization } from '@turnpike/authentication/parseAuthorization';
import type { NamedSecret } from '@turnpike/config/secrets';
import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { createMetricsRoute } from '@turnpike/http-service/createMetricsRoute';
import type { Guard } from '@turnpike/http-service/guard';
import { createHealthRoutes } from '@turnpike/http-service/healthRoutes';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { Express } from 'express';
import type { Db } from './database/createDb.ts';
import { findKey } from './keys/findKey.ts';
import type { RouterClient } from './router/routerClient.ts';
import { getKey } from './routes/getKey.ts';
import { getKeyDetails } from './routes/getKeyDetails.ts';
import { getWorkspace } from './routes/getWorkspace.ts';
import { getWorkspaceKeys } from './routes/getWorkspaceKeys.ts';
import { getWorkspaces } from './routes/getWorkspaces.ts';
import { postKey } from './routes/postKey.ts';
import { postKeyRotation } from './routes/postKeyRotation.ts';
import { postKeyStatus } from './routes/postKeyStatus.ts';
import { postWorkspaceHold } from './routes/postWorkspaceHold.ts';
import { putWorkspace } from './routes/putWorkspace.ts';
import { putWorkspaceCap } from './routes/putWorkspaceCap.ts';
import { verifyKey } from './routes/verifyKey.ts';
import { toInternalError, toPublicError } from './wire/authServiceError.ts';

export interface AppDependencies {
  log: Logger;
  telemetry: Telemetry;
  db: Db;
  region: 'us' | 'eu';
  /** The first stores new keys, all are looked up. */
  peppers: NamedSecret[];
  router: RouterClient;
  internalGuard: Guard;
  /** The path segment of the look-ups, `svc` unless it was renamed. */
  serviceSegment: string;
  /** The page where people manage their API keys. */
  keysPageUrl: string;
}

/** What clients reach through the edge. */
export function createPublicApp({
  log,
  telemetry,
  db,
  region,
  peppers,
  router,
  serviceSegment,
  keysPageUrl,
}: AppDependencies): Express {
  const keyGuard = createKeyGuard({
    async authenticate(authorization) {
      const key = await findKey(db, { keySha256: parseAuthorization(authorization), peppers });
      assertUsable(key, region);
      return key;
    },
  });
  return createHttpApp({
    log,
    telemetry,
    toWireError: (error) => toPublicError(error, { keysPageUrl }),
    routes: [{ method: 'get', path: `/v1/${serviceSegment}/key`, guard: keyGuard, handler: getKey({ router }) }],
  });
}

/** What the fleet, the operator and the orchestrator reach. */
export function createInternalApp(dependencies: AppDependencies): Express {
  const { log, telemetry, db, internalGuard: guard } = dependencies;
  const isReady = (): Promise<boolean> => db.$queryRaw`SELECT 1`.then(() => true);
  return createHttpApp({
    log,
    telemetry,
    toWireError: (error) => toInternalError(error, dependencies),
    routes: [
      ...createHealthRoutes(isReady),
      createMetricsRoute(telemetry),
      { method: 'post', path: '/internal/keys/verify', guard, handler: verifyKey(dependencies) },
      { method: 'get', path: '/internal/workspaces', guard, handler: getWorkspaces(dependencies) },
      { method: 'get', path: '/internal/workspaces/:workspace_id', guard, handler: getWorkspace(dependencies) },
      { method: 'put', path: '/internal/workspaces/:workspace_id', guard, handler: putWorkspace(dependencies) },
      { method: 'put', path: '/internal/workspaces/:workspace_id/cap', guard, handler: putWorkspaceCap(dependencies) },
      {
        method: 'post',
        path: '/internal/workspaces/:workspace_id/hold',
        guard,
        handler: postWorkspaceHold('hold', dependencies),
      },
      {
        method: 'post',
        path: '/internal/workspaces/:workspace_id/release',
        guard,
        handler: postWorkspaceHold('release', dependencies),
      },
      {
        method: 'get',
        path: '/internal/workspaces/:workspace_id/keys',
        guard,
        handler: getWorkspaceKeys(dependencies),
      },
      { method: 'post', path: '/internal/keys', guard, handler: postKey(dependencies) },
      { method: 'get', path: '/internal/keys/:key_id', guard, handler: getKeyDetails(dependencies) },
      { method: 'post', path: '/internal/keys/:key_id/rotate', guard, handler: postKeyRotation(dependencies) },
      { method: 'post', path: '/internal/keys/:key_id/revoke', guard, handler: postKeyStatus('revoke', dependencies) },
      { method: 'post', path: '/internal/keys/:key_id/block', guard, handler: postKeyStatus('block', dependencies) },
      {
        method: 'post',
        path: '/internal/keys/:key_id/unblock',
        guard,
        handler: postKeyStatus('unblock', dependencies),
      },
    ],
  });
}
