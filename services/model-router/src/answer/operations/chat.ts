import type { ChatChunk, ChatCompletion, ChatDelta, ToolCall } from '@turnpike/public-api/chatAnswer';
import type { ChunkShape, ValueEditor } from '../chunks/chunkEditor.ts';
import {
  isObject,
  pickMessageFields,
  readEngineUsage,
  readIdentity,
  toolCallsOf,
  toShownFinishReason,
  toUsageBody,
} from '../fields/answerFields.ts';
import { ToolCallEditor } from '../fields/toolCallEditor.ts';
import { type AnswerOptions, readAnswer, toPayload, type WholeAnswer } from './wholeAnswer.ts';

/**
 * An engine's whole chat answer as the client gets it: written anew from the convention's keys, with the canonical model,
 * cache and reasoning counts, and nothing else that an engine adds.
 */
export function editChatAnswer(bytes: Buffer, { canonicalModel, ...terms }: AnswerOptions): WholeAnswer {
  const read = readAnswer(bytes, terms);
  if (read.kind !== 'read') return read;
  const { answer, choice, finishReason } = read;
  if (!isObject(choice.message)) return { kind: 'broken' };
  const fields = pickMessageFields(choice.message);
  const toolCalls = editToolCalls(toolCallsOf(choice.message));
  if (!fields || !toolCalls) return { kind: 'broken' };
  const hasToolCall = toolCalls.length > 0;
  const usage = readEngineUsage(answer.usage);
  const { id, created } = readIdentity(answer, CHAT_CHUNKS.idPrefix);
  const finish_reason = toShownFinishReason(finishReason, { hasToolCall });
  const body =
    usage &&
    ({
      id,
      object: 'chat.completion',
      created,
      model: canonicalModel,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: null,
            refusal: null,
            ...fields,
            ...(hasToolCall && { tool_calls: toolCalls }),
          },
          logprobs: null,
          finish_reason,
        },
      ],
      usage: toUsageBody(usage, terms),
    } satisfies ChatCompletion);
  return { kind: 'answer', payload: toPayload(body), usage, hasToolCall };
}

/** A whole answer's calls, each its own first and last delta. Undefined where one is none, or has no name. */
function editToolCalls(entries: readonly unknown[]): ToolCall[] | undefined {
  const editor = new ToolCallEditor();
  const deltas = editor.edit(entries.map((entry, index) => (isObject(entry) ? { ...entry, index } : entry)));
  if (!deltas || editor.hasUnshowable) return undefined;
  return deltas.flatMap(({ index: _index, ...call }) => (call.id === undefined ? [] : [call]));
}

/** Turns the deltas of one chat stream into the client's: the role once, in the first, and only fields that clients know. */
class ChatDeltaEditor implements ValueEditor<ChatDelta> {
  readonly #toolCalls = new ToolCallEditor();
  #hasRole = false;

  /** Whether any tool call has been shown. */
  get hasToolCall(): boolean {
    return this.#toolCalls.hasCall;
  }

  get hasUnshowableCall(): boolean {
    return this.#toolCalls.hasUnshowable;
  }

  /** Undefined where the engine's delta is none. Empty where it has nothing for the client. */
  edit(delta: unknown): ChatDelta | undefined {
    if (!isObject(delta)) return undefined;
    const fields = pickMessageFields(delta);
    const toolCalls = this.#toolCalls.edit(toolCallsOf(delta));
    if (!fields || !toolCalls) return undefined;
    const isFirst = !this.#hasRole;
    this.#hasRole = true;
    return { ...(isFirst && { role: 'assistant' }), ...fields, ...(toolCalls.length > 0 && { tool_calls: toolCalls }) };
  }
}

export const CHAT_CHUNKS: ChunkShape<ChatDelta> = {
  idPrefix: 'chatcmpl',
  valueKey: 'delta',
  emptyValue: {},
  createValueEditor: () => new ChatDeltaEditor(),
  toChunk: ({ id, created, model, ...usage }, part) =>
    ({
      id,
      object: 'chat.completion.chunk',
      created,
      model,
      choices: part ? [{ index: 0, delta: part.value, logprobs: null, finish_reason: part.finishReason }] : [],
      ...usage,
    }) satisfies ChatChunk,
};
