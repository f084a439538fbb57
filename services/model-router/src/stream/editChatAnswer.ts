import { isObject } from './engineJson.ts';
import { readEngineUsage, toUsageBody } from './engineUsage.ts';
import { type AnswerOptions, readAnswer, type WholeAnswer } from './wholeAnswer.ts';

/** An engine's whole chat answer as the client gets it: canonical model, the convention's keys, cache counts, no vendor fields. */
export function editChatAnswer(bytes: Buffer, { canonicalModel, isCacheCapable }: AnswerOptions): WholeAnswer {
  const read = readAnswer(bytes);
  if (read.kind !== 'read') return read;
  const { answer, choice, finishReason } = read;
  if (!isObject(choice.message)) return { kind: 'broken' };
  const {
    role,
    content,
    refusal,
    reasoning,
    reasoning_content: reasoningContent,
    tool_calls: toolCalls,
  } = choice.message;
  const hasToolCall = Array.isArray(toolCalls) && toolCalls.length > 0;
  const message = {
    role,
    content: content ?? null,
    refusal: refusal ?? null,
    ...(hasToolCall && { tool_calls: toolCalls }),
    ...(typeof reasoning === 'string' && { reasoning }),
    ...(typeof reasoningContent === 'string' && { reasoning_content: reasoningContent }),
  };
  const usage = readEngineUsage(answer.usage);
  const body = {
    id: answer.id,
    object: 'chat.completion',
    created: answer.created,
    model: canonicalModel,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }],
    ...(usage && { usage: toUsageBody(usage, { isCacheCapable }) }),
  };
  return { kind: 'answer', payload: Buffer.from(JSON.stringify(body)), usage, hasToolCall };
}
