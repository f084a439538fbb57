import { join } from 'node:path';
import type { Region } from '@turnpike/config/region';
import { readServedModels, type ServedModels } from '../readServedModels.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { type DiscoveredModel, discoverModels } from './discoverModels.ts';
import { refuseSameEngineTwice } from './engineChoice.ts';

/** A real engine, and the models that it says it has. */
export interface PlannedEngine {
  url: string;
  models: DiscoveredModel[];
}

/** The engines of a region's models: simulators of a catalog file's models, or real engines. */
export type EnginePlan =
  | ({ kind: 'simulated'; catalogFile: string } & ServedModels)
  | { kind: 'real'; engines: PlannedEngine[] };

export interface PlanOptions {
  region: Region;
  /** Addresses. None: the catalog's models are simulated. */
  engines: string[];
  /** The simulated models; the repository's catalog of the region where it is not given. */
  catalogFile: string | undefined;
  signal: AbortSignal | undefined;
}

/** Looks at what will serve, before anything is started. Throws a `StackError` on a bad catalog file or engine. */
export async function planEngines({ region, engines, catalogFile, signal }: PlanOptions): Promise<EnginePlan> {
  if (engines.length === 0) {
    const file = catalogFile ?? join(repositoryRoot, 'deploy/catalog', region, 'catalog.yaml');
    return { kind: 'simulated', catalogFile: file, ...(await readServedModels(file, region)) };
  }
  refuseSameEngineTwice(engines);
  const planned = engines.map(async (url) => ({ url, models: await discoverModels(url, signal) }));
  return { kind: 'real', engines: await Promise.all(planned) };
}

/** Counts the simulated models, which need ports. */
export function countSimulated(plan: EnginePlan): Record<'simulatedModels' | 'mediaModels', number> {
  if (plan.kind === 'real') return { simulatedModels: 0, mediaModels: 0 };
  return { simulatedModels: plan.models.length, mediaModels: plan.mediaModels.length };
}
