import type { Engine } from '../engine/engine.ts';
import { unknownEmbeddingModel, unknownModel } from '../wire/engineError.ts';

/** The model a request is for: the name that stands in its answer, and the adapter it runs on, if any. */
export interface ServedModel {
  name: string;
  adapter: string | undefined;
}

/** Throws the 404 for a name this engine does not serve. No name means the engine's model; an adapter goes by its own. */
export function findServedModel(name: string | undefined, { config, adapters }: Engine): ServedModel {
  if (name === undefined || config.servedModelNames.includes(name)) {
    return { name: config.servedModelName, adapter: undefined };
  }
  if (adapters.has(name)) return { name, adapter: name };
  throw config.task === 'embed' ? unknownEmbeddingModel(name) : unknownModel(name, config.servedModelNames);
}
