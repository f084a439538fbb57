import type { Warning } from '@turnpike/http-service/healthRoutes';
import type { CatalogFollower } from '@turnpike/internal-api/transport/followCatalog';
import { type Catalog, isMedia } from '../catalog/catalog.ts';
import type { EngineRegistry } from './engineRegistry.ts';

interface FleetDependencies {
  engines: Pick<EngineRegistry, 'findEngines' | 'list' | 'listTargetFaults' | 'fileFault'>;
  catalog: Pick<CatalogFollower<Catalog>, 'current'>;
}

/**
 * Lists problems for the operator: a refused engines file, targets that cannot be listed, models without engines. An
 * engine is listed from its first missed check until it is left out.
 */
export function listFleetWarnings({ engines, catalog }: FleetDependencies): Warning[] {
  const file = engines.fileFault();
  const sold = (catalog.current?.models ?? []).filter((model) => model.state === 'live' && !isMedia(model));
  return [
    ...(file
      ? [
          {
            kind: 'file_refused' as const,
            subject: 'ENGINES_FILE',
            text: `${file.reason}; since ${file.since.toISOString()} the last good one is in force`,
          },
        ]
      : []),
    ...engines.listTargetFaults().map(({ target, reason, since }) => ({
      kind: 'target_not_listed' as const,
      subject: target,
      text: `the engines of target ${target} cannot be listed since ${since.toISOString()}: ${reason}`,
    })),
    ...sold.flatMap((model) => {
      const found = engines.findEngines(model);
      const taking = found.filter(({ isHealthy }) => isHealthy);
      if (taking.some(({ health }) => !health.isLastResort)) return [];
      const [last] = taking;
      const text = last
        ? `no engine of ${model.id} produces tokens: ${last.id} is kept as the last one, and has its calls`
        : found.length === 0
          ? `${model.id} is sold and has no engine`
          : `no engine of ${model.id} takes calls`;
      return [{ kind: 'model_without_engine' as const, subject: model.id, text }];
    }),
    ...engines
      .list()
      .filter(({ health }) => health.hasMissedCheck && health.state !== 'out')
      .map(({ id }) => ({
        kind: 'engine_silent' as const,
        subject: id,
        text: `engine ${id} did not answer its last check`,
      })),
  ];
}
