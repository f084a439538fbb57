/** What of a message or a delta is passed on beside tool calls, as the client gets it. */
export interface MessageFields {
  content?: string | null;
  refusal?: string | null;
  reasoning?: string;
  reasoning_content?: string;
}

const isTextOrNull = (value: unknown): value is string | null => typeof value === 'string' || value === null;

/**
 * Picks the fields of an engine's message or delta that clients know: `content`, `refusal` and the reasoning. Whatever else
 * an engine writes there stays inside. Undefined where the content is no text.
 *
 * Engines call the reasoning `reasoning` or, up to 2025, `reasoning_content`, and clients read the one or the other: it is
 * shown under both names, so that no client depends on the release of the engine that happened to serve it.
 */
export function pickMessageFields(message: Record<string, unknown>): MessageFields | undefined {
  const { content, refusal } = message;
  if (content !== undefined && !isTextOrNull(content)) return undefined;
  const reasonings = [message.reasoning, message.reasoning_content].filter((text) => typeof text === 'string');
  const reasoning = reasonings.find((text) => text !== '') ?? reasonings[0];
  return {
    ...(content !== undefined && { content }),
    ...(isTextOrNull(refusal) && { refusal }),
    ...(reasoning !== undefined && { reasoning, reasoning_content: reasoning }),
  };
}

/** The tool calls of a message or delta, as the engine wrote them; none where the field is absent, null or no list. */
export const toolCallsOf = ({ tool_calls: calls }: Record<string, unknown>): readonly unknown[] =>
  Array.isArray(calls) ? calls : [];
