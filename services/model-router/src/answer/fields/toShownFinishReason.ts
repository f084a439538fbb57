const CUT_SHORT = new Set(['length', 'content_filter']);

/**
 * The finish reason a client reads, one of the convention's. An answer that was not cut short ends with `tool_calls` if it
 * calls a tool and with `stop` if it does not, whatever its engine says: engines say `stop` where the tool was named by the
 * request, and newer ones know reasons of their own.
 */
export function toShownFinishReason(reason: string, { hasToolCall }: { hasToolCall: boolean }): string {
  if (CUT_SHORT.has(reason)) return reason;
  return hasToolCall ? 'tool_calls' : 'stop';
}

/** Reasons with which an engine says that it broke an answer off. */
export const isBrokenOff = (reason: unknown): boolean => reason === 'abort' || reason === 'error';
