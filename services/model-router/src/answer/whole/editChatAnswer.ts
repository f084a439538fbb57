import { readIdentity } from '../fields/answerIdentity.ts';
import { isObject } from '../fields/engineJson.ts';
import { readEngineUsage, toUsageBody } from '../fields/engineUsage.ts';
import { pickMessageFields, toolCallsOf } from '../fields/messageFields.ts';
import { ToolCallEditor } from '../fields/toolCallEditor.ts';
import { toShownFinishReason } from '../fields/toShownFinishReason.ts';
import { type AnswerOptions, readAnswer, type WholeAnswer } from './wholeAnswer.ts';

/**
 * An engine's whole chat answer as the client gets it: written anew from the convention's keys, with the canonical model,
 * cache and reasoning counts, and nothing else that an engine adds.
 */
export function editChatAnswer(bytes: Buffer, { canonicalModel, isCacheCapable }: AnswerOptions): WholeAnswer {
  const read = readAnswer(bytes);
  if (read.kind !== 'read') return read;
  const { answer, choice, finishReason } = read;
  if (!isObject(choice.message)) return { kind: 'broken' };
  const fields = pickMessageFields(choice.message);
  const toolCalls = editToolCalls(toolCallsOf(choice.message));
  if (!fields || !toolCalls) return { kind: 'broken' };
  const hasToolCall = toolCalls.length > 0;
  const message = {
    role: 'assistant',
    content: null,
    refusal: null,
    ...fields,
    ...(hasToolCall && { tool_calls: toolCalls }),
  };
  const usage = readEngineUsage(answer.usage);
  const { id, created } = readIdentity(answer, 'chat');
  const finish_reason = toShownFinishReason(finishReason, { hasToolCall });
  const body = {
    id,
    object: 'chat.completion',
    created,
    model: canonicalModel,
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    ...(usage && { usage: toUsageBody(usage, { isCacheCapable }) }),
  };
  return { kind: 'answer', payload: Buffer.from(JSON.stringify(body)), usage, hasToolCall };
}

/** A whole answer's calls, each its own first and last delta. Undefined where one is none, or has no name. */
function editToolCalls(entries: readonly unknown[]): object[] | undefined {
  const editor = new ToolCallEditor();
  const deltas = editor.edit(entries.map((entry, index) => (isObject(entry) ? { ...entry, index } : entry)));
  if (!deltas || editor.hasNameless) return undefined;
  return deltas.map(({ index: _index, ...call }) => call);
}
