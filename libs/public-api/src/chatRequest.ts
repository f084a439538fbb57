import { z } from 'zod';
import { generationFields, ignored, optional, withDefault } from './requestFields.ts';

export const MAX_TOOLS = 128;
export const MAX_TOOL_NAME_LENGTH = 256;
/** So many are checked and written in a few milliseconds. */
export const MAX_MESSAGES = 4_096;

/** Fields that clients add to a part for other services, and send to every service. */
const cache_control = ignored('Taken for the clients that send it; engines cache by themselves.');
const prompt_cache_breakpoint = ignored('Taken; engines cache by themselves.');
const index = ignored('Taken from clients that send back what they streamed.');

const textPart = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  cache_control,
  prompt_cache_breakpoint,
  annotations: ignored('Taken from clients that send back an answer.'),
  index,
});
const refusalPart = z
  .strictObject({ type: z.literal('refusal'), refusal: z.string(), cache_control })
  .meta({ description: 'A refusal that the model gave before.' });
const imageUrl = z.string().min(1).meta({
  description:
    'A public http(s) address on its usual port, 20 MiB at most and there within 10 s, or a base64 data URL of any type and parameters. A PNG, JPEG, WebP or GIF by its bytes, of at most 50 megapixels.',
  note: 'http(s) or a base64 data URL; PNG, JPEG, WebP and GIF.',
});
const imagePart = z
  .strictObject({
    type: z.literal('image_url'),
    image_url: z.union(
      [
        z.strictObject({
          url: imageUrl,
          detail: optional(z.enum(['auto', 'low', 'high', 'original'])).meta({
            description:
              'Detail of the model’s view of the image, if the model has several levels. Engines read `original` as `high`.',
          }),
          format: ignored('Taken; the format is read from the image.'),
        }),
        imageUrl,
      ],
      'must be {"url": "…"}',
    ),
    cache_control,
    prompt_cache_breakpoint,
    index,
    // Engines keep images by it for everybody: whoever guesses another tenant's would be shown that tenant's image.
    uuid: optional(z.never('is not supported')).meta({ description: 'Not supported.', support: 'no', note: '400.' }),
  })
  .meta({
    description: 'An image, on models that take them; 16 in one request at most.',
    support: 'partial',
    note: 'On models with image input; 16 at most.',
  });
export const messageContentSchema = z.union(
  [
    z.string(),
    z.array(z.discriminatedUnion('type', [textPart, refusalPart, imagePart], 'must be text, image_url or refusal')),
  ],
  {
    error: (issue) =>
      issue.input === undefined ? 'is required' : 'must be a text or a list of text, image_url and refusal parts',
  },
);
/** Objects that are not strict are written anew for engines: what they do not name is dropped. */
const toolCall = z.object({
  id: z.string(),
  type: withDefault(z.literal('function'), 'function'),
  function: z.object({
    name: z.string(),
    arguments: withDefault(z.string(), '{}').meta({ description: 'JSON as text; `{}` by default.' }),
  }),
});
const name = optional(z.string()).meta({ description: 'Name of the author, for models whose template shows it.' });
export const chatMessageSchema = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.literal('system'), content: messageContentSchema, name }),
    z.object({ role: z.literal('developer'), content: messageContentSchema, name }),
    z.object({ role: z.literal('user'), content: messageContentSchema, name }),
    z.object({
      role: z.literal('assistant'),
      content: optional(messageContentSchema),
      tool_calls: optional(z.array(toolCall)),
      reasoning: optional(z.string()).meta({ description: 'The model’s reasoning, from an earlier response.' }),
      reasoning_content: optional(z.string()).meta({ description: 'The same, by its older name.' }),
      name,
    }),
    z.object({
      role: z.literal('tool'),
      content: withDefault(messageContentSchema, '').meta({ description: 'What the tool gave; empty unless given.' }),
      tool_call_id: z.string(),
      name,
    }),
    z.object({ role: z.literal('function'), content: optional(messageContentSchema), name: z.string() }),
  ],
  'must be system, developer, user, assistant, tool or function',
);
/** Without it an engine streams nothing while the model thinks, not even what it counts: a client could leave before it is charged. */
const shownReasoning = optional(z.literal(true, 'must be true: what a model thinks is part of its answer')).meta({
  description: 'Only true is taken: what a model thinks is part of its answer.',
  support: 'no',
  note: 'Only true is accepted; false is 400.',
});
const functionChoice = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({ name: z.string().min(1) }),
});
const jsonSchema = z.record(z.string(), z.unknown()).meta({ description: 'A JSON schema.' });

export const chatRequestSchema = z
  .looseObject({
    ...generationFields,
    messages: z
      .array(chatMessageSchema)
      .min(1, 'must hold at least one message')
      .max(MAX_MESSAGES)
      .meta({ description: 'The conversation so far.' }),
    include_reasoning: shownReasoning,
    stream_reasoning: shownReasoning,
    tools: optional(
      z
        .array(
          z.object({
            type: z.literal('function'),
            function: z.object({
              name: z.string().min(1).max(MAX_TOOL_NAME_LENGTH),
              description: optional(z.string()),
              parameters: optional(jsonSchema),
              strict: optional(z.boolean()),
            }),
          }),
        )
        .max(MAX_TOOLS),
    ).meta({
      description: 'Functions that the model may call, 128 at most, on models with tool support.',
      note: 'On models with tool support; functions alone.',
    }),
    tool_choice: optional(
      z.union(
        [z.enum(['none', 'auto', 'required']), functionChoice],
        'must be none, auto, required or a named function',
      ),
    ).meta({
      description: 'With `required` or a named function, an answer that calls none is 400.',
      note: 'If a forced call does not come, the request is 400.',
    }),
    response_format: optional(
      z.discriminatedUnion(
        'type',
        [
          z.strictObject({ type: z.literal('text') }),
          z
            .strictObject({
              type: z.literal('json_object'),
              schema: optional(jsonSchema).meta({ description: 'The same as a `json_schema` that is not strict.' }),
            })
            .meta({ description: 'Any JSON object.', note: 'On most text models.' }),
          z
            .strictObject({
              type: z.literal('json_schema'),
              json_schema: z.strictObject({
                name: z.string(),
                description: optional(z.string()),
                schema: optional(jsonSchema).meta({
                  description: 'A JSON schema; without one the format is `json_object`.',
                }),
                strict: optional(z.boolean()),
              }),
            })
            .meta({
              description:
                'JSON by a schema, where the model supports it. Elsewhere a strict one is 400, and another is taken for `json_object`, as the header `x-response-format` says.',
              support: 'partial',
              note: 'On models that support it. On other models it becomes `json_object`, or is 400 with `strict`.',
            }),
        ],
        'must be text, json_object or json_schema',
      ),
    ).meta({ description: 'The format of the output.' }),
  })
  .meta({
    title: 'Chat request',
    description:
      'A conversation to be gone on with. Other fields beside these go to the serving engine, which takes, ignores or refuses them. An unknown field of a message, a tool call or a tool is dropped; one of a content part, `tool_choice` or `response_format` is refused.',
  });

export type ChatRequest = z.output<typeof chatRequestSchema>;
