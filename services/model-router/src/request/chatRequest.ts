import { ApiError } from '@turnpike/public-api/apiError';
import { OPERATION_PATHS } from '@turnpike/public-api/operations';
import { z } from 'zod';
import type { BodyFault } from '../api/bodyFault.ts';
import type { ImageFault } from '../api/inferenceFault.ts';
import { invalidRequest } from '../api/requestFault.ts';
import { generatesText, type PricedModel } from '../catalog/catalog.ts';
import { createFieldReader, ignored, optional } from './fieldReader.ts';
import { isInline } from './images/decodeInlineImage.ts';
import type { InferenceRequest, Operation, RequestImages } from './inferenceRequest.ts';
import type { JsonBody } from './readBody.ts';
import {
  generationFields,
  readTemplateSwitch,
  refuseEngineControlKeys,
  refuseSeedBeyond64Bits,
} from './requestFields.ts';
import { ANY_PLACE, type KeptPath } from './scanJson.ts';

const MIB = 1_048_576;
const MAX_IMAGES = 16;
const MAX_TOOLS = 128;
/**
 * The most messages, and the most parts and tool calls in all of them together: so many are checked and written in a few
 * milliseconds.
 */
const MAX_MESSAGES = 4_096;
const MAX_PARTS = 4_096;
const MAX_TOOL_CALLS = 4_096;

/** JSON schemas, which may hold anything: they are passed on as they are. */
export const KEPT_IN_CHATS: readonly KeptPath[] = [
  ['tools', ANY_PLACE, 'function', 'parameters'],
  ['response_format', 'json_schema', 'schema'],
];

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
export const content = z.union(
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
export const message = z.discriminatedUnion(
  'role',
  [
    z.strictObject({ role: z.literal('system'), content, name, cache_control }),
    z.strictObject({ role: z.literal('developer'), content, name, cache_control }),
    z.strictObject({ role: z.literal('user'), content, name, cache_control }),
    z.strictObject({
      role: z.literal('assistant'),
      content: optional(content),
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
    z.strictObject({ role: z.literal('tool'), content, tool_call_id: z.string(), name, cache_control }),
    z.strictObject({
      role: z.literal('function'),
      content: optional(content),
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
      .array(message)
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

/** POST /v1/chat/completions. */
export const CHAT: Operation = {
  name: 'chat',
  path: OPERATION_PATHS.chat,
  limits: { maxBytes: 20 * MIB, maxTextBytes: 4 * MIB, kept: KEPT_IN_CHATS },
  parse: parseChatRequest,
  isGenerating: true,
  maxWholeOutputTokens: 2_048, // specification, Limits
  prefixMembers: ['tools', 'messages'],
  isAskedByBody: true,
};

type ParsedChat = z.output<typeof chatRequestSchema>;
type Message = ParsedChat['messages'][number];

const readFields = createFieldReader(chatRequestSchema);

/**
 * Checks a chat body against the focused subset (specification, Chat completion request fields). Throws `invalid_request`,
 * or `body_text_too_large` if strings that looked like inline images are none.
 */
export function parseChatRequest(body: JsonBody): InferenceRequest {
  refuseEngineControlKeys(body.value);
  refuseTooManyItems(body.value.messages);
  const parsed = readFields(body.value);
  refuseSeedBeyond64Bits(body);
  const isStream = parsed.stream ?? false;
  if (parsed.stream_options && !isStream)
    throw invalidRequest('stream_options', 'stream_options is allowed only when stream is true');
  const toolChoice = parsed.tool_choice ?? 'auto';
  const isToolForced = toolChoice === 'required' || typeof toolChoice === 'object';
  if (isToolForced && !hasTools(parsed)) throw invalidRequest('tool_choice', 'tool_choice needs tools to choose from');
  const images = findImages(parsed.messages);
  const imageBytes = images.urls.reduce((sum, url) => sum + url.length, 0);
  if (body.bytes.length - imageBytes > body.maxTextBytes)
    throw new ApiError<BodyFault>({ kind: 'body_text_too_large', maxBytes: body.maxTextBytes });
  const templateSwitch = readTemplateSwitch(body.value);
  const messages = parsed.messages.map(toEngineMessage);
  // An empty list means no tools, and without any there is nothing to choose; newer engines refuse both.
  const tools = hasTools(parsed) ? parsed.tools : undefined;
  return {
    operation: CHAT,
    model: parsed.model,
    isStream,
    includeUsage: parsed.stream_options?.include_usage ?? false,
    isToolForced,
    requestedOutputTokens: parsed.max_completion_tokens ?? parsed.max_tokens,
    prompt: {
      textMembers: ['messages'],
      templateMembers: ['tools', 'response_format'],
      parts: parsed.messages.length,
      images: images.urls.length,
      imageBytes,
    },
    images,
    body,
    written: {
      messages,
      tools,
      tool_choice: tools && parsed.tool_choice,
      response_format: parsed.response_format,
      chat_template_kwargs: templateSwitch,
    },
    checkModel: (model) => checkModel(parsed, images.urls.length, model),
    replacedMembers: (model) =>
      fallsBackToJsonObject(parsed, model) ? new Map([['response_format', { type: 'json_object' }]]) : NOTHING_REPLACED,
    fallbackOn: (model) => (fallsBackToJsonObject(parsed, model) ? 'json_object_fallback' : undefined),
    // All that the chat template sees, or the count would be another prompt's.
    tokenizeQuestions: () => [
      {
        messages: parsed.messages.map(withoutRemoteImages),
        ...(tools && { tools }),
        ...(templateSwitch && { chat_template_kwargs: templateSwitch }),
      },
    ],
  };
}

const NOTHING_REPLACED: ReadonlyMap<string, unknown> = new Map();

/** Counts what lists there are before anything in them is looked at. */
function refuseTooManyItems(messages: unknown): void {
  if (!Array.isArray(messages) || messages.length > MAX_MESSAGES) return;
  let parts = 0;
  let calls = 0;
  for (const [index, each] of messages.entries()) {
    const { content, tool_calls: toolCalls } = (each ?? {}) as { content?: unknown; tool_calls?: unknown };
    if (Array.isArray(content)) parts += content.length;
    if (Array.isArray(toolCalls)) calls += toolCalls.length;
    if (parts > MAX_PARTS)
      throw invalidRequest(`messages[${index}].content`, `messages may hold at most ${MAX_PARTS} content parts in all`);
    if (calls > MAX_TOOL_CALLS)
      throw invalidRequest(
        `messages[${index}].tool_calls`,
        `messages may hold at most ${MAX_TOOL_CALLS} tool calls in all`,
      );
  }
}

const hasTools = ({ tools }: ParsedChat): boolean => tools !== undefined && tools.length > 0;

function checkModel(parsed: ParsedChat, imageCount: number, model: PricedModel): void {
  if (!generatesText(model)) throw invalidRequest('model', `${model.id} does not serve chat completions`);
  if (hasTools(parsed) && !model.supportedFeatures.includes('tools'))
    throw invalidRequest('tools', `${model.id} does not support tools`);
  if (imageCount > 0 && !model.inputModalities.includes('image'))
    throw invalidRequest('messages', `${model.id} does not take images`);
}

/** Whether a schema was asked for that the model cannot keep to: then any JSON object will do (specification, response_format). */
const fallsBackToJsonObject = ({ response_format: format }: ParsedChat, model: PricedModel): boolean =>
  format?.type === 'json_schema' && !model.supportedFeatures.includes('json_schema');

type Part = Exclude<NonNullable<Message['content']>, string>[number];
type EngineMessage = Omit<Message, 'content'> & { content?: string | object[] | null | undefined };

/**
 * A message as engines know it: `developer` is the convention's newer name for `system`, no tool call is none, and an answer
 * that was tool calls alone has a content of null.
 */
const toEngineMessage = (message: Message): EngineMessage => ({
  ...(message.role === 'assistant' && { content: null }),
  ...message,
  ...(message.role === 'developer' && { role: 'system' }),
  ...(Array.isArray(message.content) && { content: message.content.map(toEnginePart) }),
  ...(message.role === 'assistant' && message.tool_calls?.length === 0 && { tool_calls: undefined }),
});

/** Not every engine knows a refusal; those that do print its text. */
function toEnginePart(part: Part): object {
  if (part.type === 'refusal') return { type: 'text', text: part.refusal };
  return part.type === 'image_url' ? { type: part.type, image_url: toImage(part) } : part;
}

/** A text takes an image's place, as a template may not expect a message without parts. */
function withoutRemoteImages({ content: parts, ...others }: Message): object {
  const toPart = (part: Part) =>
    part.type !== 'image_url' || isInline(toImage(part).url) ? toEnginePart(part) : { type: 'text', text: '' };
  return { ...toEngineMessage(others as Message), content: Array.isArray(parts) ? parts.map(toPart) : parts };
}

const INLINE_IMAGE = /^data:image\/(?:png|jpe?g|webp|gif);base64,[A-Za-z0-9+/]/;
const HTTP_PATTERN = /^https?:/i;

/** An address alone is an image, too. */
const toImage = ({ image_url: image }: z.output<typeof imagePart>) =>
  typeof image === 'string' ? { url: image } : image;

/**
 * The address of every image, in order. Throws `image_unusable` for one that is neither inline nor http(s): nothing else
 * is looked at before the call is admitted.
 */
function findImages(messages: ParsedChat['messages']): RequestImages {
  const urls: string[] = [];
  const places: { message: number; part: number }[] = [];
  for (const [message, { content: parts }] of messages.entries()) {
    if (!Array.isArray(parts)) continue;
    for (const [part, each] of parts.entries()) {
      if (each.type !== 'image_url') continue;
      urls.push(toImage(each).url);
      places.push({ message, part });
    }
  }
  if (urls.length > MAX_IMAGES)
    throw invalidRequest('messages', `at most ${MAX_IMAGES} images are taken in one request`);
  if (!urls.every((url) => INLINE_IMAGE.test(url) || HTTP_PATTERN.test(url)))
    throw new ApiError<ImageFault>({ kind: 'image_unusable' });
  return { urls, places, fetched: new Map() };
}
