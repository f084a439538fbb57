import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GenerationRequest } from '../inference/generation.ts';
import { renderChat, renderText } from '../inference/renderChat.ts';
import type { TinyEngine } from '../inference/tinyEngine.ts';
import { type AnswerBodies, createChatBodies, createCompletionBodies } from '../wire/answerBodies.ts';
import { badRequest, serverBusy } from '../wire/engineError.ts';
import { chatRequestSchema, completionRequestSchema, type SamplingRequest } from '../wire/requests.ts';
import { checkModel, MODEL } from './modelRoutes.ts';
import { readJson } from './readJson.ts';
import { sendStream, sendWhole } from './sendAnswer.ts';
import { toGenerationRequest } from './toGenerationRequest.ts';

/** Output tokens of a completion that does not say. */
const DEFAULT_COMPLETION_TOKENS = 16;

/** POST /v1/chat/completions. Every refusal comes before the headers. */
export async function postChatCompletions(
  req: IncomingMessage,
  res: ServerResponse,
  engine: TinyEngine,
): Promise<void> {
  const request = await readJson(req, chatRequestSchema);
  checkModel(request.model);
  if (request.tools && request.tool_choice !== 'none') {
    throw badRequest('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', 'tools');
  }
  const promptTokens = renderChat(request.messages, { encode: engine.encode, addGenerationPrompt: true });
  const maxTokens = request.max_completion_tokens ?? request.max_tokens;
  const generationRequest = await toGenerationRequest(request, { promptTokens, maxTokens, engine });
  const bodies = createChatBodies(headOf(req, 'chatcmpl'));
  await answer(res, request, { generationRequest, bodies, engine });
}

/** POST /v1/completions. */
export async function postCompletions(req: IncomingMessage, res: ServerResponse, engine: TinyEngine): Promise<void> {
  const request = await readJson(req, completionRequestSchema);
  checkModel(request.model);
  const promptTokens = renderText(request.prompt, engine.encode);
  const maxTokens = request.max_tokens ?? DEFAULT_COMPLETION_TOKENS;
  const generationRequest = await toGenerationRequest(request, { promptTokens, maxTokens, engine });
  const bodies = createCompletionBodies(headOf(req, 'cmpl'));
  await answer(res, request, { generationRequest, bodies, engine });
}

function headOf(req: IncomingMessage, prefix: string) {
  const requestId = req.headers['x-request-id'] ?? randomUUID().replaceAll('-', '');
  return { id: `${prefix}-${requestId}`, created: Math.floor(Date.now() / 1_000), model: MODEL };
}

async function answer(
  res: ServerResponse,
  request: SamplingRequest,
  {
    generationRequest,
    bodies,
    engine,
  }: { generationRequest: GenerationRequest; bodies: AnswerBodies; engine: TinyEngine },
): Promise<void> {
  if (res.destroyed) return;
  if (engine.slots.isFull) throw serverBusy();
  const generation = engine.generate(generationRequest);
  // Also after an answer that was sent whole, when there is nothing left to abort.
  res.once('close', () => generation.abort());
  if (!request.stream) return sendWhole(res, generation, bodies);
  const atEnd = request.stream_options?.include_usage === true;
  const continuous = atEnd && request.stream_options?.continuous_usage_stats === true;
  return sendStream(res, generation, { bodies, usage: { atEnd, continuous } });
}
