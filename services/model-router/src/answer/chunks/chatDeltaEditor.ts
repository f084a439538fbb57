import { type MessageFields, pickMessageFields, toolCallsOf } from '../fields/messageFields.ts';
import { type ToolCallDelta, ToolCallEditor } from '../fields/toolCallEditor.ts';

/** A delta as the client gets it. */
export interface ChatDelta extends MessageFields {
  role?: 'assistant';
  tool_calls?: ToolCallDelta[];
}

/** Turns the deltas of one chat stream into the client's: the role once, in the first, and only fields that clients know. */
export class ChatDeltaEditor {
  readonly #toolCalls = new ToolCallEditor();
  #hasRole = false;

  /** Whether any tool call has been shown. */
  get hasToolCall(): boolean {
    return this.#toolCalls.hasCall;
  }

  /** Whether the engine began a tool call and never said of which function. */
  get hasNamelessCall(): boolean {
    return this.#toolCalls.hasNameless;
  }

  /** Undefined where the engine's delta is none. Empty where it has nothing for the client. */
  edit(delta: Record<string, unknown>): ChatDelta | undefined {
    const fields = pickMessageFields(delta);
    const toolCalls = this.#toolCalls.edit(toolCallsOf(delta));
    if (!fields || !toolCalls) return undefined;
    const isFirst = !this.#hasRole;
    this.#hasRole = true;
    return { ...(isFirst && { role: 'assistant' }), ...fields, ...(toolCalls.length > 0 && { tool_calls: toolCalls }) };
  }
}
