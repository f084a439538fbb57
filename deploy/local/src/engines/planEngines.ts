import { join } from 'node:path';
import { readServedModels, type ServedModels } from '../readServedModels.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { type DiscoveredModel, discoverModels } from './discoverModels.ts';
import { type EngineChoice, refuseSameEngineTwice } from './engineChoice.ts';

/** A real engine: one that the stack has to start, or one that was asked what it serves. */
export type PlannedEngine = { kind: 'tiny' } | { kind: 'running'; url: string; models: DiscoveredModel[] };

/** What will serve the stack's models: simulators of a catalog file's models, or real engines. */
export type EnginePlan =
  | ({ kind: 'simulated'; catalogFile: string } & ServedModels)
  | { kind: 'real'; engines: PlannedEngine[] };

export interface PlanOptions {
  /** None: the catalog's models are simulated. */
  engines: EngineChoice[];
  /** The simulated models; the repository's catalog of region `us` where it is not given. */
  catalogFile: string | undefined;
  signal: AbortSignal | undefined;
}

/** Looks at what will serve, before anything is started. Throws a `StackError` on a bad catalog file or engine. */
export async function planEngines({ engines, catalogFile, signal }: PlanOptions): Promise<EnginePlan> {
  if (engines.length === 0) {
    const file = catalogFile ?? join(repositoryRoot, 'deploy/catalog/us.yaml');
    return { kind: 'simulated', catalogFile: file, ...(await readServedModels(file, 'us')) };
  }
  refuseSameEngineTwice(engines);
  const planned = engines.map(async (choice): Promise<PlannedEngine> => {
    if (choice.kind === 'tiny') return choice;
    return { ...choice, models: await discoverModels(choice.url, signal) };
  });
  return { kind: 'real', engines: await Promise.all(planned) };
}

/** What a plan needs ports for. */
export function countListeners(plan: EnginePlan): Record<'simulatedModels' | 'mediaModels' | 'tinyEngines', number> {
  if (plan.kind === 'simulated')
    return { simulatedModels: plan.models.length, mediaModels: plan.mediaModels.length, tinyEngines: 0 };
  const tinyEngines = plan.engines.filter(({ kind }) => kind === 'tiny').length;
  return { simulatedModels: 0, mediaModels: 0, tinyEngines };
}
