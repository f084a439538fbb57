import { toChangeLog } from '@turnpike/http-service/createHttpApp';
import type { FaultOf } from '@turnpike/internal-api/internalApi';
import type { EngineBody, modelRouterApi } from '@turnpike/internal-api/modelRouter';
import type { CatalogFollower } from '@turnpike/internal-api/transport/followCatalog';
import type { Handlers } from '@turnpike/internal-api/transport/serveApi';
import type { Logger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import type { Response } from 'express';
import { type Catalog, isMedia } from '../catalog/catalog.ts';
import { type Engine, servedNameOf } from '../engines/engine.ts';
import type { EngineRegistry } from '../engines/engineRegistry.ts';
import type { OperatorDrains } from '../engines/operatorDrains.ts';

export interface EngineHandlerDependencies {
  log: Logger;
  catalog: Pick<CatalogFollower<Catalog>, 'current'>;
  engines: Pick<EngineRegistry, 'list' | 'retries' | 'findEngines' | 'isConfigured' | 'listTargetFaults'>;
  drains: Pick<OperatorDrains, 'engineIds' | 'set'>;
}

type EngineHandlers = Pick<
  Handlers<typeof modelRouterApi>,
  'listEngines' | 'drainEngine' | 'undrainEngine' | 'getLiveModels'
>;

/** This router's live view of its engines, and the operator's hold on them. */
export function createEngineHandlers(dependencies: EngineHandlerDependencies): EngineHandlers {
  const { log, catalog, engines, drains } = dependencies;
  const modelsOf = () => catalog.current?.models ?? [];
  const hold =
    (isDraining: boolean) =>
    async ({ params: { engine_id: id } }: { params: { engine_id: string } }, res: Response) => {
      const engine = engines.list().find((candidate) => candidate.id === id);
      // One that left meanwhile can still be released.
      if (!engine && !drains.engineIds.has(id))
        throw new ApiError<FaultOf<typeof modelRouterApi>>({ kind: 'engine_not_found' });
      await drains.set(id, isDraining);
      toChangeLog(log, res).info({ engineId: id }, isDraining ? 'engine drained' : 'engine undrained');
      return { id, open_calls: engine?.traffic.openCalls ?? 0 };
    };
  return {
    listEngines() {
      const models = modelsOf();
      const modelOf = (engine: Engine) =>
        models.find((model) => servedNameOf(engine, model) !== undefined)?.id ?? engine.configuredModel ?? null;
      const bodies = engines.list().map((engine) => ({
        ...toBody(engine),
        model: modelOf(engine),
        // A sum of estimates that come and go: what is left of a token is noise.
        tokens_in_flight: Math.round(engine.load.tokensInFlight),
        is_slow: engine.load.isSlow,
      }));
      const targetsNotListed = engines
        .listTargetFaults()
        .map(({ target: id, reason, since }) => ({ id, reason, since: since.toISOString() }));
      return { engines: bodies, retries_left: engines.retries.left, targets_not_listed: targetsNotListed };
    },
    drainEngine: hold(true),
    undrainEngine: hold(false),
    getLiveModels() {
      const served = modelsOf().filter((model) => !isMedia(model));
      const counts = served.map((model) => {
        const configured = engines.findEngines(model);
        // A model without any engine left is listed as not ready, not as unknown.
        const count = configured.length === 0 && engines.isConfigured(model) ? 1 : configured.length;
        return [model.id, { engines: count, healthy: configured.filter(({ isHealthy }) => isHealthy).length }] as const;
      });
      return { models: Object.fromEntries(counts) };
    },
  };
}

/** Unknown values are null, never 0. */
function toBody(engine: Engine): Omit<EngineBody, 'model' | 'tokens_in_flight' | 'is_slow'> {
  const { listed, health, report, version = listed.entry.version } = engine;
  const { prefixQueries = 0, prefixHits } = report ?? {};
  return {
    id: engine.id,
    target: engine.target,
    url: engine.origin,
    is_healthy: engine.isHealthy,
    state: engine.state,
    reason: engine.state === 'out' ? (health.outReason ?? null) : null,
    since: engine.since.toISOString(),
    breaker: health.breaker,
    weight: engine.weight,
    hardware: listed.entry.hardware ?? null,
    quantization: listed.entry.quantization ?? null,
    version: version ?? null,
    window_tokens: engine.windowTokens ?? null,
    cache_tokens: report?.cacheTokens ?? null,
    open_calls: engine.traffic.openCalls,
    running: report?.running ?? null,
    waiting: report?.waiting ?? null,
    cache_usage: report?.cacheUsage ?? null,
    cache_hit_rate: prefixQueries > 0 && prefixHits !== undefined ? prefixHits / prefixQueries : null,
  };
}
