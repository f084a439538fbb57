import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { createMetricsRoute } from '@turnpike/http-service/createMetricsRoute';
import type { Guard } from '@turnpike/http-service/guard';
import { createHealthRoutes } from '@turnpike/http-service/healthRoutes';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { Express } from 'express';
import { toWireError } from './api/catalogError.ts';
import type { CatalogInForce } from './catalog/followCatalogFile.ts';
import type { SwitchModel } from './catalog/switchModel.ts';
import { getCatalog } from './routes/getCatalog.ts';
import { type FindVersion, getCatalogVersion } from './routes/getCatalogVersion.ts';
import { getModel } from './routes/getModel.ts';
import { getModels, type ModelsDependencies } from './routes/getModels.ts';
import { postModelSwitch } from './routes/postModelSwitch.ts';

/** The routes that clients reach through the edge. */
export function createPublicApp({
  log,
  telemetry,
  keyGuard,
  ...dependencies
}: ModelsDependencies & { log: Logger; telemetry: Telemetry; keyGuard: Guard }): Express {
  return createHttpApp({
    log,
    telemetry,
    toWireError,
    routes: [
      { method: 'get', path: '/v1/models', guard: keyGuard, handler: getModels(dependencies) },
      { method: 'get', path: '/v1/models/:id', guard: keyGuard, handler: getModel(dependencies) },
    ],
  });
}

/** The routes for the other services, the operator and the orchestrator. */
export function createInternalApp({
  log,
  telemetry,
  internalGuard: guard,
  catalog,
  findVersion,
  switchModel,
}: {
  log: Logger;
  telemetry: Telemetry;
  internalGuard: Guard;
  catalog: CatalogInForce;
  findVersion: FindVersion;
  switchModel: SwitchModel;
}): Express {
  return createHttpApp({
    log,
    telemetry,
    toWireError,
    routes: [
      ...createHealthRoutes(() => true),
      createMetricsRoute(telemetry),
      { method: 'get', path: '/internal/catalog', guard, handler: getCatalog({ catalog }) },
      {
        method: 'get',
        path: '/internal/catalog/versions/:version',
        guard,
        handler: getCatalogVersion({ findVersion }),
      },
      {
        method: 'post',
        path: '/internal/models/:model_id/disable',
        guard,
        handler: postModelSwitch('disable', { log, switchModel }),
      },
      {
        method: 'post',
        path: '/internal/models/:model_id/enable',
        guard,
        handler: postModelSwitch('enable', { log, switchModel }),
      },
    ],
  });
}
