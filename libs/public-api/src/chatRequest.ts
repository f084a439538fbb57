import { z } from 'zod';
import { generationFields, ignored, optional } from './requestFields.ts';

const MAX_TOOLS = 128;
/** So many are checked and written in a few milliseconds. */
export const MAX_MESSAGES = 4_096;

/** Fields that clients add to a message or a part for other services, and send to every service. */
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
    'A public http(s) address on its usual port, 20 MiB at most and there within 10 s, or a base64 data URL. A PNG, JPEG, WebP or GIF of at most 50 megapixels.',
  note: 'http(s) or a base64 data URL; PNG, JPEG, WebP and GIF.',
});
const imagePart = z
  .strictObject({
    type: z.literal('image_url'),
    image_url: z.union(
      [
        z.strictObject({
          url: imageUrl,
          detail: optional(z.enum(['auto', 'low', 'high'])).meta({
            description: 'How closely the model shall look, where it can do so in more than one way.',
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
const provider_specific_fields = ignored('Taken from clients that send back an answer.');
const extra_content = ignored('Taken from clients that send back an answer.');
const toolCall = z.strictObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.strictObject({
    name: z.string(),
    arguments: z.string(),
    parsed_arguments: ignored('Taken from clients that send back an answer.'),
    provider_specific_fields,
  }),
  index,
  cache_control,
  extra_content,
  provider_specific_fields,
});
const name = optional(z.string()).meta({ description: 'Who speaks, for models whose template shows it.' });
const sentBack = ignored('Taken from clients that send back an answer, and left out.');
export const chatMessageSchema = z.discriminatedUnion(
  'role',
  [
    z.strictObject({ role: z.literal('system'), content: messageContentSchema, name, cache_control }),
    z.strictObject({ role: z.literal('developer'), content: messageContentSchema, name, cache_control }),
    z.strictObject({ role: z.literal('user'), content: messageContentSchema, name, cache_control }),
    z.strictObject({
      role: z.literal('assistant'),
      content: optional(messageContentSchema),
      tool_calls: optional(z.array(toolCall)),
      reasoning: optional(z.string()).meta({ description: 'What the model thought, as an answer had it.' }),
      reasoning_content: optional(z.string()).meta({ description: 'The same, by its older name.' }),
      name,
      refusal: sentBack,
      function_call: sentBack,
      audio: sentBack,
      annotations: sentBack,
      parsed: sentBack,
      images: sentBack,
      reasoning_details: sentBack,
      reasoning_items: sentBack,
      thinking_blocks: sentBack,
      cache_control,
      extra_content,
      provider_specific_fields,
    }),
    z.strictObject({
      role: z.literal('tool'),
      content: messageContentSchema,
      tool_call_id: z.string(),
      name,
      cache_control,
    }),
    z.strictObject({
      role: z.literal('function'),
      content: optional(messageContentSchema),
      name: z.string(),
      tool_call_id: ignored('Taken, and left out.'),
      cache_control,
    }),
  ],
  'must be system, developer, user, assistant, tool or function',
);
/** Without it an engine streams nothing while the model thinks, not even what it counts: a client could leave before it is charged. */
const shownReasoning = optional(z.literal(true, 'must be true: what a model thinks is part of its answer')).meta({
  description: 'Only true is taken: what a model thinks is part of its answer.',
  support: 'no',
  note: 'Only true is taken; false is 400.',
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
          z.strictObject({
            type: z.literal('function'),
            function: z.strictObject({
              name: z.string().min(1).max(256),
              description: optional(z.string()),
              parameters: optional(jsonSchema),
              strict: optional(z.boolean()),
            }),
            cache_control,
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
      note: 'A forced call that does not come is 400.',
    }),
    response_format: optional(
      z.discriminatedUnion(
        'type',
        [
          z.strictObject({ type: z.literal('text') }),
          z
            .strictObject({ type: z.literal('json_object') })
            .meta({ description: 'Any JSON object.', note: 'On most text models.' }),
          z
            .strictObject({
              type: z.literal('json_schema'),
              json_schema: z.strictObject({
                name: z.string(),
                description: optional(z.string()),
                schema: optional(jsonSchema),
                strict: optional(z.boolean()),
              }),
            })
            .meta({
              description: 'JSON by a schema, where the model supports it; elsewhere taken for `json_object`.',
              support: 'partial',
              note: 'Where the model supports it; elsewhere it becomes `json_object`.',
            }),
        ],
        'must be text, json_object or json_schema',
      ),
    ).meta({ description: 'The form of the answer.' }),
  })
  .meta({
    title: 'Chat request',
    description:
      'A conversation to be gone on with. Other fields beside these go to the serving engine, which takes, ignores or refuses them; an unknown field within `messages`, `tools` or `response_format` is refused.',
  });

export type ChatRequest = z.output<typeof chatRequestSchema>;
