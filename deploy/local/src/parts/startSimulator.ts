import { join } from 'node:path';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import type { Part, Parts } from '../process/startParts.ts';
import { repositoryRoot } from '../repositoryRoot.ts';
import { isHealthy } from './isHealthy.ts';

const PROGRAM = join(repositoryRoot, 'deploy/engine-simulator/src/main.ts');
const READY_TIMEOUT_MS = 30_000;
/** About what a model of middling size does on a quiet machine, quick enough not to bore. */
const TIME_TO_FIRST_TOKEN_MS = 60;
const INTER_TOKEN_MS = 10;
const MAX_IMAGES = 16;
/** Of every vector (specification, Limits). */
const EMBEDDING_DIMENSIONS = 1_024;
/** A simulated engine that has a parser, whichever, thinks before it answers. */
const REASONING_PARSER = 'simulated';

export interface SimulatorOptions {
  parts: Parts;
  name: string;
  models: CatalogModel[];
  /** One for each model. */
  ports: number[];
  adminPort: number;
}

/** Starts a simulator process that hosts one engine of every model, and resolves when all of them are healthy. */
export async function startSimulator({ parts, name, models, ports, adminPort }: SimulatorOptions): Promise<Part> {
  const part = parts.start({
    name,
    layer: 0,
    command: process.execPath,
    args: [PROGRAM],
    env: {
      LISTEN_HOST: '127.0.0.1',
      ADMIN_PORT: String(adminPort),
      SIMULATOR_ENGINES: JSON.stringify(models.map((model, index) => toEngine(model, ports[index]))),
    },
    stopSignal: 'SIGTERM',
    hasChannel: true,
  });
  const areHealthy = async () => (await Promise.all(ports.map(isHealthy))).every(Boolean);
  await parts.untilReady(part, areHealthy, READY_TIMEOUT_MS);
  return part;
}

function toEngine(model: CatalogModel, port: number | undefined): object {
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
