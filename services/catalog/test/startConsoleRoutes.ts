import type { PublicKey } from '@turnpike/config/internalKeys';
import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { createInternalGuard } from '@turnpike/http-service/guard';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import type { LiveModels } from '@turnpike/internal-api/modelRouter';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import { listInternalRoutes } from '../src/app.ts';

interface CatalogHost extends HttpStandIn {
  /** Puts models in force. `live` has those that engines serve; undefined while the router never answered. */
  show(models: CatalogModel[], live: LiveModels | undefined): void;
}

/** Serves the internal routes of the catalog on a free port, to an edge with one of the keys. */
export async function startConsoleRoutes(tokenKeys: PublicKey[]): Promise<CatalogHost> {
  let snapshot = { version: 1, region: 'us' as const, models: [] as CatalogModel[] };
  let live: LiveModels | undefined = {};
  const close = async () => {};
  const app = createHttpApp({
    log: aSilentLogger(),
    telemetry: noTelemetry,
    ...listInternalRoutes({
      log: aSilentLogger(),
      internalGuard: createInternalGuard({ audience: 'us/catalog', keys: tokenKeys }),
      tokenKeys,
      catalog: {
        current: () => snapshot,
        fault: () => undefined,
        databaseAwaySince: () => undefined,
        refresh: async () => snapshot,
        close,
      },
      live: { current: () => live, close },
      findVersion: async () => snapshot,
      listVersions: async () => ({ versions: [], isLast: true }),
      switchModel: () => Promise.reject(new Error('a catalog set by hand has no switches')),
    }),
  });
  return {
    ...(await serveHttp(app)),
    show(models, liveModels) {
      snapshot = { ...snapshot, version: snapshot.version + 1, models };
      live = liveModels;
    },
  };
}
