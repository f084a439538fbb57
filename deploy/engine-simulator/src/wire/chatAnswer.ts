import type { Delta } from '../engine/outputQueue.ts';
import type { Knobs } from '../knobs.ts';
import { type AnswerIdentity, createChunks, type StreamChunks, toAnswerBody, type WholeAnswer } from './answer.ts';
import type { Usage } from './usage.ts';

type Manners = Pick<Knobs, 'reasoningField' | 'toolIds'>;

/** The field names of reasoning. */
const reasoningNames: Record<Knobs['reasoningField'], readonly string[]> = {
  reasoning: ['reasoning'],
  reasoning_content: ['reasoning_content'],
  both: ['reasoning', 'reasoning_content'],
};

/** Writes the events of one chat stream. */
export const createChatChunks = (
  identity: AnswerIdentity,
  { runningUsageOf, knobs }: { runningUsageOf: number | undefined; knobs: Manners },
): StreamChunks =>
  createChunks(identity, {
    object: 'chat.completion.chunk',
    runningUsageOf,
    runningDetails: { completion_tokens_details: null },
    opening: {
      choice: '{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}',
      behind: ',"prompt_token_ids":null,"prompt_text":null',
    },
    toChoice(delta, end) {
      const start = `{"index":0,"delta":${delta ? toDeltaJson(delta, knobs) : '{}'},"logprobs":null`;
      const finish = end
        ? `"finish_reason":"${end.finishReason}","stop_reason":${JSON.stringify(end.stopReason)}`
        : '"finish_reason":null';
      return `${start},${finish},"token_ids":null}`;
    },
  });

function toDeltaJson({ kind, text, toolIndex = 0, toolCallId }: Delta, { reasoningField, toolIds }: Manners): string {
  const json = JSON.stringify(text);
  switch (kind) {
    case 'content':
      return `{"content":${json}}`;
    case 'reasoning':
      return `{${reasoningNames[reasoningField].map((name) => `"${name}":${json}`).join(',')}}`;
    case 'tool_name': {
      const id = toolIds === 'present' ? `"id":"${toolCallId}",` : '';
      return `{"content":null,"tool_calls":[{${id}"type":"function","index":${toolIndex},"function":{"name":${json}}}]}`;
    }
    case 'tool_arguments':
      return `{"content":null,"tool_calls":[{"index":${toolIndex},"function":{"arguments":${json}}}]}`;
  }
}

/** The body of a whole chat answer. */
export const toChatBody = (
  identity: AnswerIdentity,
  { deltas, finishReason, stopReason }: WholeAnswer,
  { usage, knobs }: { usage: Usage; knobs: Manners },
): object =>
  toAnswerBody(identity, {
    object: 'chat.completion',
    choice: {
      index: 0,
      message: toMessage(deltas, knobs),
      logprobs: null,
      finish_reason: finishReason,
      stop_reason: stopReason,
      token_ids: null,
      routed_experts: null,
    },
    usage,
    promptFields: { prompt_logprobs: null, prompt_token_ids: null, prompt_text: null },
  });

function toMessage(deltas: readonly Delta[], { reasoningField, toolIds }: Manners): object {
  const textOf = (kind: Delta['kind'], toolIndex?: number) =>
    deltas
      .filter((delta) => delta.kind === kind && delta.toolIndex === toolIndex)
      .map(({ text }) => text)
      .join('');
  const toolCalls = deltas
    .filter(({ kind }) => kind === 'tool_name')
    .map(({ toolIndex, toolCallId, text }) => ({
      ...(toolIds === 'present' && { id: toolCallId }),
      type: 'function',
      function: { name: text, arguments: textOf('tool_arguments', toolIndex) },
    }));
  const content = textOf('content');
  const reasoning = textOf('reasoning') || null;
  return {
    role: 'assistant',
    content: toolCalls.length > 0 && content === '' ? null : content,
    refusal: null,
    annotations: null,
    audio: null,
    function_call: null,
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    ...Object.fromEntries(reasoningNames[reasoningField].map((name) => [name, reasoning])),
  };
}
