import type { IncomingMessage, ServerResponse } from 'node:http';
import { deriveKey, draw, type RandomKey } from '../generation/counterRandom.ts';
import { keyOfModel } from '../generation/planSequence.ts';
import type { TokenId } from '../tokenizer/tokenizer.ts';
import { encode } from '../tokenizer/tokenizer.ts';
import { contextExceeded } from '../wire/contextExceeded.ts';
import { embeddingRequestSchema, toEmbeddingList } from '../wire/embeddings.ts';
import { badRequest } from '../wire/engineError.ts';
import { answerWhole } from './answerGeneration.ts';
import { checkModel } from './checkSampling.ts';
import { checkAdmission, type EngineContext } from './engineContext.ts';
import { Generation } from './generation.ts';
import { readJson } from './readJson.ts';

/** POST /v1/embeddings: one vector a text. All of them are computed like one prompt. Throws refusals as `EngineError`. */
export async function postEmbeddings(req: IncomingMessage, res: ServerResponse, context: EngineContext): Promise<void> {
  const { engine, plan } = context;
  const { maxModelLen, servedModelName, embeddingDimensions } = engine.config;
  const request = await readJson(req, embeddingRequestSchema);
  checkModel(request.model, engine);
  const { dimensions } = request;
  if (dimensions !== undefined) {
    throw badRequest(
      `Model '${servedModelName}' does not support Matryoshka embeddings; dimensions must be unset (received dimensions=${dimensions}).`,
    );
  }
  const texts = [request.input].flat().map((text) => encode(text));
  for (const { length } of texts) {
    if (length === 0) throw badRequest('The decoder prompt cannot be empty');
    if (length > maxModelLen)
      throw contextExceeded({ maxModelLen, promptTokens: length, maxTokens: 0 }, engine.knobs.windowRule);
  }
  checkAdmission(context);

  const sequence = plan({ task: 'embedding', request, promptTokens: texts.flat(), maxTokens: 1 });
  const generation = new Generation(req, { sequence, idPrefix: 'embd' }, context);
  const modelKey = keyOfModel(servedModelName);
  answerWhole(res, generation, () =>
    toEmbeddingList(
      generation.identity,
      texts.map((tokens) => embedText(modelKey, tokens, embeddingDimensions)),
      { format: request.encoding_format, promptTokens: generation.entry.promptTokens },
    ),
  );
}

/**
 * Returns the vector of a text: `dimensions` Gaussian values from the key of the model and the text's tokens. Its
 * length is normalized to 1, in float32.
 */
function embedText(modelKey: RandomKey, tokens: readonly TokenId[], dimensions: number): Float32Array {
  const key = deriveKey(modelKey, tokens);
  const values = Float64Array.from({ length: dimensions }, (_, index) => gaussian(key, index));
  const norm = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  return Float32Array.from(values, (value) => value / norm);
}

/** Number `index` of a standard normal sequence (Box and Muller). */
function gaussian(key: RandomKey, index: number): number {
  const first = (draw(key, 2 * index) + 1) / (2 ** 32 + 1);
  const second = draw(key, 2 * index + 1) / 2 ** 32;
  return Math.sqrt(-2 * Math.log(first)) * Math.cos(2 * Math.PI * second);
}
