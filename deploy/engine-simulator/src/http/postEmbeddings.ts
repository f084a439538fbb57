import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EngineConfig } from '../config.ts';
import { embedText } from '../generation/embedText.ts';
import { contextExceeded } from '../wire/contextExceeded.ts';
import { type EmbeddingRequest, embeddingRequestSchema, toEmbeddingList } from '../wire/embeddings.ts';
import { badRequest } from '../wire/engineError.ts';
import { answerWhole } from './answerGeneration.ts';
import { checkAdmission, checkMemory } from './checkAdmission.ts';
import { createGeneration, keyOfModel } from './createGeneration.ts';
import { encodeTexts } from './encodeTexts.ts';
import type { EngineContext } from './engineContext.ts';
import { findServedModel } from './findServedModel.ts';
import { identityOf } from './identityOf.ts';
import { readJson } from './readJson.ts';
import { readDirectives, takeFault } from './takeFault.ts';

/** POST /v1/embeddings: one vector a text. Every text is computed like a prompt. Throws refusals as `EngineError`. */
export async function postEmbeddings(req: IncomingMessage, res: ServerResponse, context: EngineContext): Promise<void> {
  const { engine } = context;
  const request = await readJson(req, embeddingRequestSchema);
  const model = findServedModel(request.model, engine);
  const dimensions = resolveDimensions(request, engine.config);
  const { maxModelLen } = engine.config;
  const prompts = encodeTexts(request.input).map(({ text, tokens }) => {
    if (tokens.length === 0) throw badRequest('The decoder prompt cannot be empty');
    if (tokens.length > maxModelLen) {
      const overflow = { maxModelLen, promptTokens: tokens.length, maxTokens: undefined };
      throw contextExceeded(overflow, engine.knobs.contextSentence);
    }
    const directives = readDirectives(text, 'input');
    const planOf = () => ({ segments: [], finishReason: 'stop' as const, isPooled: true });
    return { tokens, maxTokens: 1, directives, planOf };
  });
  checkAdmission(context, prompts.length);
  checkMemory(context, Math.max(...prompts.map(({ tokens }) => tokens.length)));

  const fault = takeFault(
    prompts.map(({ directives }) => directives),
    req.headers,
    context,
  );
  const generation = createGeneration(req, { sampling: {}, model, prompts, fault, idPrefix: 'embd' }, context);
  const identity = identityOf(generation, context);
  const modelKey = keyOfModel(model.name);
  const toBody = () =>
    toEmbeddingList(
      identity,
      prompts.map(({ tokens }) => embedText(modelKey, tokens, dimensions)),
      { format: request.encoding_format, promptTokens: generation.entry.promptTokens },
    );
  answerWhole(res, { generation, fault, toBody }, context);
}

/** Throws where a model that has one length only is asked for another way, or for more than it has. */
function resolveDimensions(
  { dimensions }: EmbeddingRequest,
  { embeddingDimensions, isMatryoshka, servedModelName }: EngineConfig,
): number {
  if (dimensions === undefined) return embeddingDimensions;
  if (!isMatryoshka) {
    throw badRequest(
      `Model '${servedModelName}' does not support Matryoshka embeddings; dimensions must be unset (received dimensions=${dimensions}).`,
    );
  }
  if (dimensions < 1 || dimensions > embeddingDimensions) {
    throw badRequest(`dimensions must be from 1 to ${embeddingDimensions}, got ${dimensions}.`, 'dimensions');
  }
  return dimensions;
}
