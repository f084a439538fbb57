import type { IncomingMessage, ServerResponse } from 'node:http';
import { wholeBlocksOf } from '../engine/prefixCache.ts';
import { TOKENS_PER_IMAGE } from '../tokenizer/renderChat.ts';
import { createChatChunks, toChatBody } from '../wire/chatAnswer.ts';
import { chatRequestSchema } from '../wire/chatRequest.ts';
import { answerGeneration } from './answerGeneration.ts';
import { checkChatFields, checkLogprobs } from './checkChatRequest.ts';
import { checkModel, checkSampling, checkSharedFields, resolveMaxTokens } from './checkSampling.ts';
import { checkAdmission, type EngineContext } from './engineContext.ts';
import { Generation } from './generation.ts';
import { readJson } from './readJson.ts';
import { countImages, renderPrompt } from './renderPrompt.ts';

/** POST /v1/chat/completions. Every refusal comes before the headers, in vLLM's order; throws them as `EngineError`. */
export async function postChatCompletions(
  req: IncomingMessage,
  res: ServerResponse,
  context: EngineContext,
): Promise<void> {
  const { engine, plan } = context;
  const request = await readJson(req, chatRequestSchema);
  checkSharedFields(request);
  checkChatFields(request);
  checkModel(request.model, engine);
  const promptTokens = renderPrompt(request, context, { addGenerationPrompt: true });
  const maxTokens = resolveMaxTokens(request.max_completion_tokens ?? request.max_tokens, promptTokens.length, engine);
  checkSampling(request, maxTokens);
  checkLogprobs(request);
  checkAdmission(context);

  const sequence = plan({ task: 'chat', request, promptTokens, maxTokens });
  const generation = new Generation(req, { sequence, idPrefix: 'chatcmpl', isStream: request.stream }, context);
  const { identity } = generation;
  const imageTokens = countImages(request.messages) * TOKENS_PER_IMAGE;
  const usage = () => {
    const createdCacheTokens = Math.max(0, wholeBlocksOf(promptTokens.length) - generation.entry.cachedTokens);
    return generation.usage({ imageTokens, createdCacheTokens });
  };
  const { knobs } = engine;
  answerGeneration(res, generation, {
    sampling: request,
    toChunks: (runningUsageOf) => createChatChunks(identity, { runningUsageOf, knobs }),
    toBody: (answer) => toChatBody(identity, answer, { usage: usage(), knobs }),
    usage,
  });
}
