import { join } from 'node:path';
import type { Region } from '@turnpike/config/region';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { readServedModels, type ServedModels } from '../readServedModels.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { askAbilities } from './askAbilities.ts';
import { type DiscoveredModel, discoverModels } from './discoverModels.ts';
import { type EngineChoice, refuseSameEngineTwice } from './engineChoice.ts';

/** A real engine, and the models in its list. */
export interface PlannedEngine {
  url: string;
  models: DiscoveredModel[];
  /** Whether its models' abilities were tested by calls. */
  wasAsked: boolean;
}

/** The engines of a region's models: simulators of a catalog file's models, or real engines. */
export type EnginePlan =
  | ({ kind: 'simulated'; catalogFile: string } & ServedModels)
  | {
      kind: 'real';
      engines: PlannedEngine[];
      /** Catalog file whose media models are simulated beside the engines. */
      mediaCatalogFile: string | undefined;
      mediaModels: CatalogModel[];
    };

export interface PlanOptions {
  region: Region;
  /**
   * Real engines. Without any, the catalog's models are simulated. Of an engine given as an address alone only the
   * model list is used.
   */
  engines: (string | EngineChoice)[];
  /** Catalog file of the simulated models. Default: the repository's catalog of the region. */
  catalogFile: string | undefined;
  signal: AbortSignal | undefined;
}

/** Plans the engines before any part is started. Throws a `StackError` on a bad catalog file or engine. */
export async function planEngines({ region, engines, catalogFile, signal }: PlanOptions): Promise<EnginePlan> {
  const file = catalogFile ?? join(repositoryRoot, 'deploy/catalog', region, 'catalog.yaml');
  if (engines.length === 0) return { kind: 'simulated', catalogFile: file, ...(await readServedModels(file, region)) };
  refuseSameEngineTwice(engines.map((engine) => (typeof engine === 'string' ? engine : engine.url)));
  const planned = await Promise.all(engines.map((engine) => planEngine(engine, signal)));
  const mediaCatalogFile = engines.some((engine) => typeof engine === 'string') ? undefined : file;
  const mediaModels = mediaCatalogFile === undefined ? [] : (await readServedModels(file, region)).mediaModels;
  return { kind: 'real', engines: planned, mediaCatalogFile, mediaModels };
}

async function planEngine(engine: string | EngineChoice, signal: AbortSignal | undefined): Promise<PlannedEngine> {
  if (typeof engine === 'string') return { url: engine, models: await discoverModels(engine, signal), wasAsked: false };
  const { url } = engine;
  const found = await discoverModels(url, signal);
  const [only, ...others] = found;
  // A server of several models may load each for the question.
  const wasAsked = only !== undefined && others.length === 0 && only.category === 'text';
  const models = wasAsked ? [await askAbilities(url, only, signal)] : found;
  return { url, models: models.map((model) => withChoice(model, engine)), wasAsked };
}

function withChoice(model: DiscoveredModel, { can, contextLength }: EngineChoice): DiscoveredModel {
  const window = { contextLength: contextLength ?? model.contextLength };
  if (model.category === 'embeddings') return { ...model, ...window };
  const features = new Set([...model.features, ...(can.tools ? ['tools'] : [])]);
  return { ...model, ...window, category: can.images ? 'multimodal' : model.category, features: [...features] };
}

/** Counts the simulated models, which need ports. */
export function countSimulated(plan: EnginePlan): Record<'simulatedModels' | 'mediaModels', number> {
  return {
    simulatedModels: plan.kind === 'real' ? 0 : plan.models.length,
    mediaModels: plan.mediaModels.length,
  };
}
