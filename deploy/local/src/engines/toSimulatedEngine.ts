import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';

/** About what a model of middling size does on a quiet machine, quick enough not to bore. */
const TIME_TO_FIRST_TOKEN_MS = 60;
const INTER_TOKEN_MS = 10;
const MAX_IMAGES = 16;
/** Length of every vector. */
const EMBEDDING_DIMENSIONS = 1_024;
/** A simulated engine that has a parser, whichever, thinks before it answers. */
const REASONING_PARSER = 'simulated';

/** Configuration of an engine simulator for a catalog model. */
export function toSimulatedEngine(model: CatalogModel, port: number | undefined): object {
  return {
    port,
    servedModelNames: [model.id],
    root: model.huggingFaceId,
    maxModelLen: model.contextLength,
    timeToFirstTokenMs: TIME_TO_FIRST_TOKEN_MS,
    ...(model.category === 'embeddings'
      ? { task: 'embed', embeddingDimensions: EMBEDDING_DIMENSIONS }
      : toGeneration(model)),
  };
}

const toGeneration = ({ inputModalities, supportedFeatures }: CatalogModel): object => ({
  interTokenMs: INTER_TOKEN_MS,
  maxImagesPerPrompt: inputModalities.includes('image') ? MAX_IMAGES : 0,
  ...(supportedFeatures.includes('reasoning') && { reasoningParser: REASONING_PARSER }),
});
