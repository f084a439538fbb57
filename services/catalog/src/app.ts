import type { Guard } from '@turnpike/http-service/guard';
import type { RouteTable, ServiceRoutes } from '@turnpike/http-service/serviceApps';
import type { Logger } from '@turnpike/logging/createLogger';
import { toWireError } from './api/catalogError.ts';
import type { CatalogInForce } from './catalog/followCatalogFile.ts';
import type { SwitchModel } from './catalog/switchModel.ts';
import { getCatalog } from './routes/getCatalog.ts';
import { type FindVersion, getCatalogVersion } from './routes/getCatalogVersion.ts';
import { getModel } from './routes/getModel.ts';
import { getModels, type ModelsDependencies } from './routes/getModels.ts';
import { postModelSwitch } from './routes/postModelSwitch.ts';

export interface AppDependencies extends ModelsDependencies {
  log: Logger;
  keyGuard: Guard;
  internalGuard: Guard;
  catalog: CatalogInForce;
  findVersion: FindVersion;
  switchModel: SwitchModel;
}

export const listRoutes = (dependencies: AppDependencies): ServiceRoutes => ({
  public: listPublicRoutes(dependencies),
  internal: listInternalRoutes(dependencies),
  isReady: () => true,
});

/** The routes that clients reach through the edge. */
function listPublicRoutes({ keyGuard, ...dependencies }: AppDependencies): RouteTable {
  return {
    toWireError,
    routes: [
      { method: 'get', path: '/v1/models', guard: keyGuard, handler: getModels(dependencies) },
      { method: 'get', path: '/v1/models/:id', guard: keyGuard, handler: getModel(dependencies) },
    ],
  };
}

/** The routes for the other services and the operator. */
export function listInternalRoutes({
  log,
  internalGuard: guard,
  catalog,
  findVersion,
  switchModel,
}: Pick<AppDependencies, 'log' | 'internalGuard' | 'catalog' | 'findVersion' | 'switchModel'>): RouteTable {
  return {
    toWireError,
    routes: [
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
  };
}
