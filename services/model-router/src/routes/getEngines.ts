import type { RequestHandler } from 'express';
import type { CatalogFollower } from '../catalog/followCatalog.ts';
import { type EngineRegistry, servedNameOf } from '../engines/engineRegistry.ts';

/** GET /internal/engines: this router's live view of every engine, for the operator. Never shown to clients. */
export function getEngines({
  catalog,
  engines,
}: {
  catalog: CatalogFollower;
  engines: EngineRegistry;
}): RequestHandler {
  return (_req, res) => {
    const models = catalog.current()?.models ?? [];
    const bodies = engines.list().map((engine) => ({
      id: engine.id,
      url: engine.origin,
      model: models.find((model) => servedNameOf(engine, model) !== undefined)?.id ?? engine.configuredModel ?? null,
      is_healthy: engine.isHealthy,
      tokens_in_flight: engine.tokensInFlight,
    }));
    res.json({ engines: bodies });
  };
}
