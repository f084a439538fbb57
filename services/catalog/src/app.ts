import type { PublicKey } from '@turnpike/config/internalKeys';
import { modelsConsoleApi } from '@turnpike/console-api/console/models';
import { createConsoleFaultWording, serveConsoleApi } from '@turnpike/console-api/transport/serveConsoleApi';
import { toChangeLog } from '@turnpike/http-service/createHttpApp';
import type { Guard } from '@turnpike/http-service/guard';
import type { RouteTable, ServiceRoutes } from '@turnpike/http-service/serviceApps';
import { type CatalogVersionBody, catalogApi } from '@turnpike/internal-api/catalog';
import type { CatalogSnapshot } from '@turnpike/internal-api/catalogSnapshot';
import { createFaultWording, serveApi } from '@turnpike/internal-api/transport/serveApi';
import type { Logger } from '@turnpike/logging/createLogger';
import { wordDatabaseAway } from '@turnpike/postgres/wordDatabaseAway';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Response } from 'express';
import type { CatalogFault } from './api/catalogError.ts';
import { createToWireError } from './api/catalogError.ts';
import type { CatalogVersion } from './catalog/applyCatalog.ts';
import type { CatalogInForce } from './catalog/followCatalogFile.ts';
import { listCatalogWarnings } from './catalog/listCatalogWarnings.ts';
import type { ModelChange, SwitchModel } from './catalog/switchModel.ts';
import { getModel } from './routes/getModel.ts';
import { getModels, listModelBodies, type ModelsDependencies } from './routes/getModels.ts';

export interface AppDependencies extends ModelsDependencies {
  log: Logger;
  keyGuard: Guard;
  internalGuard: Guard;
  /** Keys that the edge signs with. */
  tokenKeys: PublicKey[];
  catalog: CatalogInForce;
  /** A catalog that was ever in force, as it was then. */
  findVersion: (version: number) => Promise<CatalogSnapshot | undefined>;
  listVersions: (page: { before: number; limit: number }) => Promise<{ versions: CatalogVersion[]; isLast: boolean }>;
  switchModel: SwitchModel;
  /** The page where people manage their API keys. */
  keysPageUrl: string | undefined;
}

export const listRoutes = (dependencies: AppDependencies): ServiceRoutes => ({
  public: listPublicRoutes(dependencies),
  internal: listInternalRoutes(dependencies),
  // The service listens only after it has a catalog, and serves that without Postgres.
  readinessChecks: {},
  listWarnings: () => listCatalogWarnings(dependencies.catalog),
});

/** The routes that clients reach through the edge. */
function listPublicRoutes({ keyGuard, ...dependencies }: AppDependencies): RouteTable {
  return {
    toWireError: createToWireError(dependencies),
    routes: [
      { method: 'get', path: '/v1/models', guard: keyGuard, handler: getModels(dependencies) },
      { method: 'get', path: '/v1/models/*id', guard: keyGuard, handler: getModel(dependencies) },
    ],
  };
}

const VERSIONS_PAGE = 20;
const MAX_SHOWN_CHANGES = 100;

const toVersionBody = ({ version, appliedAt, models, changes }: CatalogVersion): CatalogVersionBody => ({
  version,
  applied_at: appliedAt.toISOString(),
  models,
  changes: changes.slice(0, MAX_SHOWN_CHANGES).map(({ factor: _, ...change }) => change),
  change_count: changes.length,
});

/** The routes for the other services and the operator. */
export function listInternalRoutes({
  log,
  internalGuard,
  tokenKeys: keys,
  catalog,
  live,
  findVersion,
  listVersions,
  switchModel,
}: Omit<AppDependencies, 'keyGuard' | 'takeModelList' | 'keysPageUrl'>): RouteTable {
  const turn =
    (change: ModelChange) =>
    async ({ params: { model_id: model } }: { params: { model_id: string } }, res: Response) => {
      const { version } = await switchModel(model, change, toChangeLog(log, res));
      return { model, version };
    };
  const wordFault = createFaultWording(catalogApi);
  const wordConsoleFault = createConsoleFaultWording(modelsConsoleApi);
  return {
    toWireError: (error) => wordFault(error) ?? wordConsoleFault(error) ?? wordDatabaseAway(error),
    routes: [
      ...serveApi(catalogApi, {
        guard: internalGuard,
        handlers: {
          getCatalog: () => catalog.current(),
          async listCatalogVersions({ params: { before } }) {
            const { versions, isLast } = await listVersions({ before, limit: VERSIONS_PAGE });
            return {
              versions: versions.map(toVersionBody),
              next_before: isLast ? null : (versions.at(-1)?.version ?? null),
            };
          },
          async getCatalogVersion({ params: { version } }) {
            const snapshot = await findVersion(version);
            if (!snapshot) throw new ApiError<CatalogFault>({ kind: 'version_not_found' });
            return snapshot;
          },
          disableModel: turn('disable'),
          enableModel: turn('enable'),
        },
      }),
      ...serveConsoleApi(modelsConsoleApi, {
        internalGuard,
        keys,
        handlers: { listModels: async () => ({ models: listModelBodies({ catalog, live }) }) },
      }),
    ],
  };
}
