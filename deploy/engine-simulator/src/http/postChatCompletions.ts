import type { IncomingMessage, ServerResponse } from 'node:http';
import { wholeBlocksOf } from '../engine/prefixCache.ts';
import { planOutput } from '../generation/planOutput.ts';
import { ChatChunks } from '../wire/chatChunks.ts';
import { toChatCompletion } from '../wire/chatCompletion.ts';
import { chatRequestSchema } from '../wire/chatRequest.ts';
import { answerGeneration } from './answerGeneration.ts';
import { checkAdmission, checkMemory } from './checkAdmission.ts';
import { checkAutoTools, checkChatFields, checkLogprobs } from './checkChatRequest.ts';
import { checkSampling, checkSharedFields, resolveMaxTokens } from './checkSampling.ts';
import { createGeneration } from './createGeneration.ts';
import type { EngineContext } from './engineContext.ts';
import { findServedModel } from './findServedModel.ts';
import { identityOf } from './identityOf.ts';
import { readJson } from './readJson.ts';
import { countImages, lastUserText, renderPrompt } from './renderPrompt.ts';
import { readDirectives, takeFault } from './takeFault.ts';
import { usageOf } from './usageOf.ts';

/** POST /v1/chat/completions. Every refusal comes before the headers, in vLLM's order; throws them as `EngineError`. */
export async function postChatCompletions(
  req: IncomingMessage,
  res: ServerResponse,
  context: EngineContext,
): Promise<void> {
  const { engine } = context;
  const { config, knobs } = engine;
  const request = await readJson(req, chatRequestSchema);
  checkSharedFields(request);
  checkChatFields(request);
  const model = findServedModel(request.model, engine);
  checkAutoTools(request, config);
  const tokens = renderPrompt(request, engine, { addGenerationPrompt: true });
  const requested = request.max_completion_tokens ?? request.max_tokens;
  const maxTokens = resolveMaxTokens(requested, tokens.length, engine);
  checkSampling(request, maxTokens);
  checkLogprobs(request);
  const directives = readDirectives(lastUserText(request.messages), 'messages');
  checkAdmission(context, request.n ?? 1);
  checkMemory(context, tokens.length);

  const fault = takeFault([directives], req.headers, context);
  const isReasoningModel = config.reasoningParser !== undefined;
  const generation = createGeneration(
    req,
    {
      sampling: request,
      model,
      prompts: [
        {
          tokens,
          maxTokens,
          directives,
          planOf: (key) => planOutput(request, { directives, key, maxTokens, isReasoningModel }),
        },
      ],
      fault,
      idPrefix: 'chatcmpl',
    },
    context,
  );
  const identity = identityOf(generation, context);
  const imageTokens = countImages(request.messages) * config.tokensPerImage;
  const usage = () => {
    const createdCacheTokens = Math.max(0, wholeBlocksOf(tokens.length) - generation.entry.cachedTokens);
    return usageOf(generation, context, { imageTokens, createdCacheTokens });
  };
  const format = {
    toChunks: ({ runningUsageOf }: { runningUsageOf: number | undefined }) =>
      new ChatChunks(identity, { runningUsageOf, knobs }),
    toBody: (choices: Parameters<typeof toChatCompletion>[1]) =>
      toChatCompletion(identity, choices, { usage: usage(), knobs }),
    usage,
  };
  answerGeneration(res, { generation, sampling: request, fault, format }, context);
}
