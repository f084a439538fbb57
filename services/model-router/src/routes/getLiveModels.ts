import type { RequestHandler } from 'express';
import type { CatalogFollower } from '../catalog/followCatalog.ts';
import type { EngineRegistry } from '../fleet/engineRegistry.ts';

/** GET /internal/models/live: for each model of the catalog, how many engines the region has and how many answer. */
export function getLiveModels({
  catalog,
  engines,
}: {
  catalog: CatalogFollower;
  engines: EngineRegistry;
}): RequestHandler {
  return (_req, res) => {
    const models = (catalog.current()?.models ?? []).map((model) => {
      const configured = engines.findEngines(model);
      // A model whose engines have all gone is listed as not ready, not as if nobody had ever wanted it here.
      const count = configured.length === 0 && engines.isConfigured(model) ? 1 : configured.length;
      return [model.id, { engines: count, healthy: configured.filter(({ isHealthy }) => isHealthy).length }];
    });
    res.json({ models: Object.fromEntries(models) });
  };
}
