import type { Delta } from '../engine/outputQueue.ts';
import type { Knobs } from '../knobs.ts';
import { reasoningNames } from './chatChunks.ts';
import type { AnswerIdentity } from './streamChunks.ts';
import { toFinalUsage, type Usage } from './usage.ts';

export interface FinishedChoice {
  deltas: readonly Delta[];
  finishReason: string;
  stopReason: string | null;
}

/** The body of a whole chat answer, with the null fields that recent engines send. */
export function toChatCompletion(
  identity: AnswerIdentity,
  { deltas, finishReason, stopReason }: FinishedChoice,
  { usage, knobs }: { usage: Usage; knobs: Pick<Knobs, 'reasoningField' | 'toolIds'> },
): object {
  return {
    id: identity.id,
    object: 'chat.completion',
    created: identity.createdAtSeconds,
    model: identity.model,
    choices: [
      {
        index: 0,
        message: toMessage(deltas, knobs),
        logprobs: null,
        finish_reason: finishReason,
        stop_reason: stopReason,
        token_ids: null,
        routed_experts: null,
      },
    ],
    service_tier: null,
    system_fingerprint: identity.systemFingerprint,
    usage: toFinalUsage(usage, { isStream: false }),
    prompt_logprobs: null,
    prompt_token_ids: null,
    prompt_text: null,
    kv_transfer_params: null,
    ec_transfer_params: null,
    metrics: null,
  };
}

function toMessage(
  deltas: readonly Delta[],
  { reasoningField, toolIds }: Pick<Knobs, 'reasoningField' | 'toolIds'>,
): object {
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
