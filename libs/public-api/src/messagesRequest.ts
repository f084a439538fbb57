import { z } from 'zod';
import { MAX_MESSAGES, MAX_TOOL_NAME_LENGTH, MAX_TOOLS } from './chatRequest.ts';
import { generationFields, ignored, optional, withDefault } from './requestFields.ts';

const textBlock = z.object({ type: z.literal('text'), text: z.string() });
const imageBlock = z
  .object({
    type: z.literal('image'),
    source: z.discriminatedUnion(
      'type',
      [
        z.object({ type: z.literal('base64'), media_type: z.string().min(1), data: z.string() }),
        z.object({ type: z.literal('url'), url: z.string().min(1) }),
      ],
      'must be base64 or url: files are not kept here',
    ),
  })
  .meta({ description: 'An image, on models that take them; 16 in one request at most.' });
const toolResult = z
  .object({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    content: optional(
      z.union(
        [
          z.string(),
          z.array(
            z.discriminatedUnion(
              'type',
              [textBlock, imageBlock],
              'must be text or image: send the text of a document as text',
            ),
          ),
        ],
        'must be a text or a list of text and image blocks',
      ),
    ),
    is_error: withDefault(z.boolean(), false),
  })
  .meta({ description: 'The result of a tool. With `is_error` the model gets it behind the word “Error:”.' });
const thinking = z
  .object({
    type: z.literal('thinking'),
    thinking: z.string(),
    signature: ignored('Taken; answers are not signed.'),
  })
  .meta({ description: 'The model’s reasoning, from an earlier response.' });
const redactedThinking = z
  .object({ type: z.literal('redacted_thinking'), data: ignored('Taken, and dropped: it cannot be read here.') })
  .meta({ description: 'Dropped.' });
const toolUse = z.object({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string().min(1),
  input: withDefault(z.record(z.string(), z.unknown()), {}),
});

const systemContent = z.union(
  [z.string(), z.array(z.discriminatedUnion('type', [textBlock], 'must be text'))],
  'must be a text or a list of text blocks',
);
const userContent = z.union(
  [
    z.string(),
    z.array(
      z.discriminatedUnion(
        'type',
        [textBlock, imageBlock, toolResult],
        'must be text, image or tool_result: send the text of a document as text',
      ),
    ),
  ],
  'must be a text or a list of text, image and tool_result blocks',
);
const assistantContent = z.union(
  [
    z.string(),
    z.array(
      z.discriminatedUnion(
        'type',
        [textBlock, thinking, redactedThinking, toolUse],
        'must be text, thinking, redacted_thinking or tool_use',
      ),
    ),
  ],
  'must be a text or a list of text, thinking, redacted_thinking and tool_use blocks',
);

export const messagesMessageSchema = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.literal('user'), content: userContent }),
    z.object({ role: z.literal('assistant'), content: assistantContent }),
    z.object({ role: z.literal('system'), content: systemContent }),
  ],
  'must be user, assistant or system',
);

const promptFields = {
  model: generationFields.model,
  messages: z
    .array(messagesMessageSchema)
    .min(1, 'must hold at least one message')
    .max(MAX_MESSAGES)
    .meta({ description: 'The conversation so far.' }),
  system: optional(systemContent).meta({ description: 'The system message, before all messages.' }),
  tools: optional(
    z
      .array(
        z.object({
          type: optional(
            z.literal('custom', 'must be custom or left out: nothing is run here. Describe the tool by input_schema'),
          ),
          name: z.string().min(1).max(MAX_TOOL_NAME_LENGTH),
          description: optional(z.string()),
          input_schema: z.record(z.string(), z.unknown()).meta({ description: 'A JSON schema.' }),
          strict: optional(z.boolean()),
        }),
      )
      .max(MAX_TOOLS),
  ).meta({ description: 'Tools that the model may call, 128 at most, on models with tool support.' }),
  tool_choice: optional(
    z.discriminatedUnion(
      'type',
      [
        z.object({ type: z.literal('auto'), disable_parallel_tool_use: optional(z.boolean()) }),
        z.object({ type: z.literal('any'), disable_parallel_tool_use: optional(z.boolean()) }),
        z.object({
          type: z.literal('tool'),
          name: z.string().min(1),
          disable_parallel_tool_use: optional(z.boolean()),
        }),
        z.object({ type: z.literal('none') }),
      ],
      'must be auto, any, tool or none',
    ),
  ).meta({ description: 'With `any` or `tool`, a response without a call is 400.' }),
  thinking: optional(
    z.discriminatedUnion(
      'type',
      [
        z.object({ type: z.literal('enabled') }),
        z.object({ type: z.literal('adaptive') }),
        z.object({ type: z.literal('between_tools') }),
        z.object({ type: z.literal('disabled') }),
      ],
      'must be enabled, adaptive, between_tools or disabled',
    ),
  ).meta({ description: 'Only `disabled` has an effect, because reasoning models reason by default.' }),
  output_config: optional(
    z.object({
      effort: optional(z.enum(['low', 'medium', 'high', 'xhigh', 'max'])).meta({
        description: 'Reasoning effort of a reasoning model. Engines know `low`, `medium` and `high`.',
      }),
      format: optional(z.object({ type: z.literal('json_schema'), schema: z.record(z.string(), z.unknown()) })).meta({
        description: 'A JSON schema for the output.',
      }),
    }),
  ).meta({ description: 'The format of the output.' }),
  cache_control: ignored('Taken; engines cache by themselves.'),
  context_management: ignored('Taken, and not acted on.'),
};

/** `POST /v1/messages/count_tokens`. */
export const countTokensRequestSchema = z
  .object(promptFields)
  .meta({ title: 'Count request', description: 'A prompt whose tokens are to be counted.' });

export const messagesRequestSchema = z
  .object({
    ...promptFields,
    max_tokens: z
      .number()
      .int()
      .min(1)
      .max(2 ** 31 - 1)
      .meta({
        description:
          'Maximum of generated tokens; lowered to what model and window allow, and to 2048 without streaming.',
      }),
    stop_sequences: optional(z.array(z.string().min(1)).max(4)).meta({
      description: 'Ends the output before one of these texts; 4 at most.',
    }),
    stream: generationFields.stream,
    temperature: generationFields.temperature,
    top_p: generationFields.top_p,
    top_k: optional(z.number().int().min(0)).meta({ description: 'Samples from this many of the likeliest tokens.' }),
    metadata: ignored('Accepted and not passed to engines.'),
    service_tier: ignored('Taken; there is one.'),
    container: optional(z.never('is not supported: nothing is run here. Describe what you run as tools')).meta({
      description: 'Not supported.',
    }),
    mcp_servers: optional(z.array(z.never('is not supported: describe their tools as tools'))).meta({
      description: 'Only an empty list is accepted.',
    }),
  })
  .meta({
    title: 'Messages request',
    description: 'A conversation to be gone on with, as the Messages API says it. Fields beside these are dropped.',
  });

export type MessagesRequest = z.output<typeof messagesRequestSchema>;
export type CountTokensRequest = z.output<typeof countTokensRequestSchema>;
