import { join } from 'node:path';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { readServedModels } from '../readServedModels.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { type DiscoveredModel, discoverModels } from './discoverModels.ts';
import { type EngineChoice, refuseSameEngineTwice } from './engineChoice.ts';

/** A real engine: one that the stack has to start, or one that was asked what it serves. */
export type PlannedEngine = { kind: 'tiny' } | { kind: 'running'; url: string; models: DiscoveredModel[] };

/** What will serve the stack's models: simulators of a catalog file's models, or real engines. */
export type EnginePlan =
  | { kind: 'simulated'; catalogFile: string; models: CatalogModel[] }
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
    return { kind: 'simulated', catalogFile: file, models: await readServedModels(file, 'us') };
  }
  refuseSameEngineTwice(engines);
  const planned = engines.map(async (choice): Promise<PlannedEngine> => {
    if (choice.kind === 'tiny') return choice;
    return { ...choice, models: await discoverModels(choice.url, signal) };
  });
  return { kind: 'real', engines: await Promise.all(planned) };
}

/** What a plan needs ports for. */
export function countListeners(plan: EnginePlan): { simulatedModels: number; tinyEngines: number } {
  return plan.kind === 'simulated'
    ? { simulatedModels: plan.models.length, tinyEngines: 0 }
    : { simulatedModels: 0, tinyEngines: plan.engines.filter(({ kind }) => kind === 'tiny').length };
}
