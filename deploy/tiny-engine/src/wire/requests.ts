import { z } from 'zod';
import type { ChatMessage, ChatRole } from '../inference/renderChat.ts';

/** Null is absence, for every optional field. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

const contentPartSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }).transform(({ text }) => text),
  z.object({ type: z.literal('refusal'), refusal: z.string() }).transform(({ refusal }) => refusal),
]);

const contentSchema = z.union(
  [z.string(), z.array(contentPartSchema).transform((parts) => parts.join(''))],
  'must be text or a list of text parts: this model sees no images',
);

const messageSchema = z
  .object({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
    content: optional(contentSchema),
  })
  .transform(
    ({ role, content = '' }): ChatMessage => ({
      role: role === 'developer' ? 'system' : (role satisfies ChatRole),
      text: content,
    }),
  );

const messagesSchema = z.array(messageSchema).min(1, 'must not be empty');

/** The fields of chat and completions alike. Unknown ones are ignored, as vLLM does. */
const samplingFields = {
  model: optional(z.string()),
  max_tokens: optional(z.int()),
  n: optional(z.int()),
  stream: optional(z.boolean()),
  stream_options: optional(
    z.object({ include_usage: optional(z.boolean()), continuous_usage_stats: optional(z.boolean()) }),
  ),
  temperature: optional(z.number()),
  top_p: optional(z.number()),
  seed: optional(z.int()),
  stop: optional(z.union([z.string().transform((text) => [text]), z.array(z.string())])),
  response_format: optional(
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object') }),
      z.object({
        type: z.literal('json_schema'),
        json_schema: z.object({ schema: z.record(z.string(), z.unknown()) }),
      }),
    ]),
  ),
  ignore_eos: optional(z.boolean()),
  cache_salt: optional(z.string()),
};

/** POST /v1/chat/completions. */
export const chatRequestSchema = z.object({
  ...samplingFields,
  messages: messagesSchema,
  max_completion_tokens: optional(z.int()),
  tools: optional(z.array(z.unknown())),
  tool_choice: optional(z.unknown()),
});

/** POST /v1/completions. */
export const completionRequestSchema = z.object({ ...samplingFields, prompt: z.string() });

/** What the two have in common. */
export type SamplingRequest = Omit<z.output<typeof completionRequestSchema>, 'prompt'>;

/** POST /tokenize: a text, or the messages of a chat. */
export const tokenizeRequestSchema = z.union([
  z.object({ model: samplingFields.model, prompt: z.string() }),
  z.object({
    model: samplingFields.model,
    messages: messagesSchema,
    add_generation_prompt: z.boolean().default(true),
  }),
]);
