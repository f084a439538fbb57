import type { IncomingMessage, ServerResponse } from 'node:http';
import { encode } from '../tokenizer/tokenizer.ts';
import { createCompletionChunks, toCompletionBody } from '../wire/completionAnswer.ts';
import { badRequest, emptyPrompt } from '../wire/engineError.ts';
import { completionRequestSchema } from '../wire/samplingFields.ts';
import { answerGeneration } from './answerGeneration.ts';
import { checkModel, checkSampling, checkSharedFields, resolveMaxTokens } from './checkSampling.ts';
import { checkAdmission, type EngineContext } from './engineContext.ts';
import { Generation } from './generation.ts';
import { readJson } from './readJson.ts';

/** Most tokens of a completion that names no length. */
const DEFAULT_MAX_TOKENS = 16;

/** POST /v1/completions, of one text. Throws refusals as `EngineError`. */
export async function postCompletions(
  req: IncomingMessage,
  res: ServerResponse,
  context: EngineContext,
): Promise<void> {
  const { engine, plan } = context;
  const request = await readJson(req, completionRequestSchema);
  checkSharedFields(request);
  checkModel(request.model, engine);
  if (request.suffix !== undefined)
    throw badRequest('suffix is only supported for models with FIM completion rendering', 'suffix');
  if (request.prompt === '') throw emptyPrompt();
  const promptTokens = encode(request.prompt);
  const maxTokens = resolveMaxTokens(request.max_tokens ?? DEFAULT_MAX_TOKENS, promptTokens.length, engine);
  checkSampling(request, maxTokens);
  checkAdmission(context);

  const sequence = plan({ task: 'completion', request, promptTokens, maxTokens });
  const generation = new Generation(req, { sequence, idPrefix: 'cmpl', isStream: request.stream }, context);
  const { identity } = generation;
  const usage = () => generation.usage({ imageTokens: 0, createdCacheTokens: null });
  answerGeneration(res, generation, {
    sampling: request,
    toChunks: (runningUsageOf) => createCompletionChunks(identity, { runningUsageOf }),
    toBody: (answer) => toCompletionBody(identity, answer, usage()),
    usage,
  });
}
