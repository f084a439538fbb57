const FINISH_REASONS = new Set(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']);

/** The finish reason a client reads: one of the convention's. Engines know others, which come to `stop`. */
export const toShownFinishReason = (reason: string): string => (FINISH_REASONS.has(reason) ? reason : 'stop');
