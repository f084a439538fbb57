import type { EndedCall } from './inferenceMetrics.ts';
import type { SpanAttributes } from './spanAttributes.ts';

/** The span attributes of a call, taken from its completion event. */
export function toCallAttributes(
  call: EndedCall & { callId: string; model: string; reason: string | null },
): SpanAttributes {
  return {
    'turnpike.call_id': call.callId,
    'turnpike.model': call.canonicalModel,
    'turnpike.engine': call.model,
    'turnpike.is_stream': call.isStream,
    'turnpike.status': call.status,
    'turnpike.reason': call.reason ?? undefined,
    'turnpike.prompt_tokens': call.promptTokens,
    'turnpike.cached_prompt_tokens': call.cachedPromptTokens,
    'turnpike.completion_tokens': call.completionTokens,
  };
}
