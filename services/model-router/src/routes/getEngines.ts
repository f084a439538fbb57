import type { RequestHandler } from 'express';
import type { CatalogFollower } from '../catalog/followCatalog.ts';
import { servedNameOf } from '../fleet/engine.ts';
import type { EngineRegistry } from '../fleet/engineRegistry.ts';
import type { FleetEngine } from '../fleet/fleetEngine.ts';
import type { Placer } from '../fleet/placement/placer.ts';

/** GET /internal/engines: this router's live view of every engine, for the operator. Never shown to clients. */
export function getEngines({
  catalog,
  engines,
  placer,
}: {
  catalog: Pick<CatalogFollower, 'current'>;
  engines: Pick<EngineRegistry, 'list' | 'retries'>;
  placer: Pick<Placer, 'tokensInFlightOn' | 'isSlow'>;
}): RequestHandler {
  return (_req, res) => {
    const models = catalog.current()?.models ?? [];
    const modelOf = (engine: FleetEngine) =>
      models.find((model) => servedNameOf(engine, model) !== undefined)?.id ?? engine.configuredModel ?? null;
    const bodies = engines.list().map((engine) => ({
      ...toBody(engine),
      model: modelOf(engine),
      // A sum of estimates that come and go: what is left of a token is noise.
      tokens_in_flight: Math.round(placer.tokensInFlightOn(engine)),
      is_slow: placer.isSlow(engine),
    }));
    res.json({ engines: bodies, retries_left: engines.retries.left });
  };
}

/** What is not known is null, never 0. */
function toBody(engine: FleetEngine): object {
  const { listed, load, version = listed.entry.version } = engine;
  const { prefixQueries = 0, prefixHits } = load ?? {};
  return {
    id: engine.id,
    target: engine.target,
    url: engine.origin,
    is_healthy: engine.isHealthy,
    state: engine.state,
    reason: engine.state === 'out' ? (engine.outReason ?? null) : null,
    since: engine.since.toISOString(),
    breaker: engine.breaker.state,
    weight: engine.weight,
    hardware: listed.entry.hardware ?? null,
    quantization: listed.entry.quantization ?? null,
    version: version ?? null,
    window_tokens: engine.windowTokens ?? null,
    cache_tokens: engine.cacheTokens ?? null,
    open_calls: engine.traffic.openCalls,
    running: load?.running ?? null,
    waiting: load?.waiting ?? null,
    cache_usage: load?.cacheUsage ?? null,
    cache_hit_rate: prefixQueries > 0 && prefixHits !== undefined ? prefixHits / prefixQueries : null,
  };
}
