import type { IncomingMessage, ServerResponse } from 'node:http';
import { planText } from '../generation/planText.ts';
import { CompletionChunks, toTextCompletion } from '../wire/completionChunks.ts';
import { completionRequestSchema } from '../wire/completionRequest.ts';
import { badRequest, emptyPrompt } from '../wire/engineError.ts';
import { answerGeneration } from './answerGeneration.ts';
import { checkAdmission, checkMemory } from './checkAdmission.ts';
import { checkSampling, checkSharedFields, resolveMaxTokens } from './checkSampling.ts';
import { createGeneration, type PlannedPrompt } from './createGeneration.ts';
import { encodeTexts } from './encodeTexts.ts';
import type { EngineContext } from './engineContext.ts';
import { findServedModel } from './findServedModel.ts';
import { identityOf } from './identityOf.ts';
import { readJson } from './readJson.ts';
import { readDirectives, takeFault } from './takeFault.ts';
import { usageOf } from './usageOf.ts';

/** What a completion that names no length may have at most. */
const DEFAULT_MAX_TOKENS = 16;

/** POST /v1/completions. Prompts times `n` make the choices, in this order. Throws refusals as `EngineError`. */
export async function postCompletions(
  req: IncomingMessage,
  res: ServerResponse,
  context: EngineContext,
): Promise<void> {
  const { engine } = context;
  const request = await readJson(req, completionRequestSchema);
  checkSharedFields(request);
  const model = findServedModel(request.model, engine);
  if (request.suffix !== undefined)
    throw badRequest('suffix is only supported for models with FIM completion rendering', 'suffix');
  const texts = encodeTexts(request.prompt);
  const prompts = texts.map(({ text, tokens }): PlannedPrompt => {
    if (tokens.length === 0) throw emptyPrompt();
    const maxTokens = resolveMaxTokens(request.max_tokens ?? DEFAULT_MAX_TOKENS, tokens.length, engine);
    checkSampling(request, maxTokens);
    const directives = readDirectives(text, 'prompt');
    return {
      tokens,
      maxTokens,
      directives,
      planOf: (key) => ({
        segments: [
          {
            kind: 'content' as const,
            tokens: planText(request, { directives, key, maxTokens, before: 0, text: directives.text }),
          },
        ].filter((segment) => segment.tokens.length > 0),
        finishReason: 'stop',
      }),
    };
  });
  const choicesPerPrompt = request.n ?? 1;
  checkAdmission(context, prompts.length * choicesPerPrompt);
  checkMemory(context, Math.max(...prompts.map(({ tokens }) => tokens.length)));

  const fault = takeFault(
    prompts.map(({ directives }) => directives),
    req.headers,
    context,
  );
  const generation = createGeneration(req, { sampling: request, model, prompts, fault, idPrefix: 'cmpl' }, context);
  const identity = identityOf(generation, context);
  const echoes = request.echo ? texts.flatMap(({ text }) => new Array<string>(choicesPerPrompt).fill(text)) : [];
  const usage = () => usageOf(generation, context, { imageTokens: 0, createdCacheTokens: null });
  const format = {
    toChunks: ({ runningUsageOf }: { runningUsageOf: number | undefined }) =>
      new CompletionChunks(identity, { echoes, runningUsageOf }),
    toBody: (choices: Parameters<typeof toTextCompletion>[1]) =>
      toTextCompletion(identity, choices, { echoes, usage: usage() }),
    usage,
  };
  answerGeneration(res, { generation, sampling: request, fault, format }, context);
}
