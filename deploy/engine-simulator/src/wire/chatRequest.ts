import { z } from 'zod';
import { nullish, samplingFields } from './samplingFields.ts';

const contentPartSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('refusal'), refusal: z.string() }),
  z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) }),
]);

const toolCallSchema = z.object({ function: z.object({ name: z.string(), arguments: z.string() }) });

const MAY_BE_SILENT = new Set(['assistant', 'function']);

const messageSchema = z
  .object({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
    content: nullish(z.union([z.string(), z.array(contentPartSchema)])),
    tool_calls: nullish(z.array(toolCallSchema)),
  })
  .refine(({ role, content }) => content !== undefined || MAY_BE_SILENT.has(role), { path: ['content'] });
export type RequestMessage = z.output<typeof messageSchema>;

const toolSchema = z.object({
  type: nullish(z.literal('function')),
  function: z.object({ name: z.string().min(1), description: nullish(z.string()), parameters: nullish(z.unknown()) }),
});
export type ToolDefinition = z.output<typeof toolSchema>;

/** Beginning of a directive for one turn of the model. */
const SCRIPT = '[[sim: turn=';

/**
 * Finds the text with the directives, and counts the model's turns since. The text is the last user message with a
 * script of turns, because agents add messages after it. Without a script it is the last user message.
 */
export function findAskedText(messages: readonly RequestMessage[]): { text: string; turn: number } {
  const users = messages.flatMap(({ role, content }, at) => (role === 'user' ? [{ at, text: toText(content) }] : []));
  const { at, text } = users.findLast((user) => user.text.includes(SCRIPT)) ?? users.at(-1) ?? { at: 0, text: '' };
  return { text, turn: 1 + messages.slice(at).filter(({ role }) => role === 'assistant').length };
}

function toText(content: RequestMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

/** The fields that render a prompt, shared by chat and `/tokenize`. */
export const promptFields = {
  model: nullish(z.string()),
  messages: z.array(messageSchema),
  tools: nullish(z.array(toolSchema)),
};

/** The fields of a chat request that the simulator acts on; it ignores every other, as vLLM does. Null is absence. */
export const chatRequestSchema = z.object({
  ...promptFields,
  ...samplingFields,
  max_completion_tokens: nullish(z.int()),
  logprobs: nullish(z.boolean()),
  top_logprobs: nullish(z.int()),
  tool_choice: nullish(
    z.union([
      z.enum(['none', 'auto', 'required']),
      z.object({ type: nullish(z.literal('function')), function: z.object({ name: z.string() }) }),
    ]),
  ),
  parallel_tool_calls: nullish(z.boolean()),
  response_format: nullish(
    z.object({
      type: z.enum(['text', 'json_object', 'json_schema']),
      json_schema: nullish(z.object({ schema: z.unknown().optional() })),
    }),
  ),
  chat_template_kwargs: nullish(z.object({ enable_thinking: nullish(z.boolean()) })),
  reasoning_effort: nullish(z.string()),
});
export type ChatRequest = z.output<typeof chatRequestSchema>;
