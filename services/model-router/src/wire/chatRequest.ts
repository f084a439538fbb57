import { ApiError } from '@turnpike/api-errors/apiError';
import { z } from 'zod';
import { generatesText, type PricedModel } from '../catalog/catalog.ts';
import { INLINE_IMAGE_PATTERN, isInline } from '../images/decodeInlineImage.ts';
import type { ImageFault } from './chatFault.ts';
import type { InferenceRequest } from './inferenceRequest.ts';
import { parseFields } from './parseFields.ts';
import type { BodyFault, JsonBody } from './readBody.ts';
import {
  generationFields,
  invalidRequest,
  optional,
  refuseEngineControlKeys,
  refuseSeedBeyond64Bits,
} from './requestFields.ts';

const MAX_IMAGES = 16;
const MAX_TOOLS = 128;

const textPart = z.looseObject({ type: z.literal('text'), text: z.string() });
const refusalPart = z
  .looseObject({ type: z.literal('refusal'), refusal: z.string() })
  .meta({ description: 'A refusal that the model gave before.' });
const imageUrl = z.string().min(1).meta({
  description:
    'A public http(s) address on its usual port, 20 MiB at most and there within 10 s, or a base64 data URL. A PNG, JPEG, WebP or GIF of at most 50 megapixels.',
  note: 'http(s) or a base64 data URL; PNG, JPEG, WebP and GIF.',
});
const imagePart = z
  .looseObject({
    type: z.literal('image_url'),
    image_url: z.union([z.looseObject({ url: imageUrl }), imageUrl], 'must be {"url": "…"}'),
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
const toolCall = z.looseObject({
  id: z.string(),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string(), arguments: z.string() }),
});
export const message = z.discriminatedUnion(
  'role',
  [
    z.looseObject({ role: z.literal('system'), content }),
    z.looseObject({ role: z.literal('developer'), content }),
    z.looseObject({ role: z.literal('user'), content }),
    z.looseObject({
      role: z.literal('assistant'),
      content: optional(content),
      tool_calls: optional(z.array(toolCall)),
    }),
    z.looseObject({ role: z.literal('tool'), content, tool_call_id: z.string() }),
    z.looseObject({ role: z.literal('function'), content: optional(content), name: z.string() }),
  ],
  'must be system, developer, user, assistant, tool or function',
);
const functionChoice = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({ name: z.string().min(1) }),
});

export const chatRequestSchema = z
  .looseObject({
    ...generationFields,
    messages: z
      .array(message)
      .min(1, 'must hold at least one message')
      .meta({ description: 'The conversation so far.' }),
    tools: optional(
      z
        .array(
          z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string().min(1).max(256) }) }),
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
          z.looseObject({ type: z.literal('text') }),
          z
            .looseObject({ type: z.literal('json_object') })
            .meta({ description: 'Any JSON object.', note: 'On most text models.' }),
          z
            .looseObject({
              type: z.literal('json_schema'),
              json_schema: z.looseObject({ name: z.string(), schema: optional(z.looseObject({})) }),
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
      'A conversation to be gone on with. Fields that are not listed go to the serving engine, which takes, ignores or refuses them.',
  });

type ParsedChat = z.output<typeof chatRequestSchema>;

/**
 * Checks a chat body against the focused subset (specification, Chat completion request fields). Throws `invalid_request`,
 * or `body_text_too_large` if strings that looked like inline images are none.
 */
export function parseChatRequest(body: JsonBody): InferenceRequest {
  refuseEngineControlKeys(body.value);
  const parsed = parseFields(chatRequestSchema, body.value);
  refuseSeedBeyond64Bits(body);
  const isStream = parsed.stream ?? false;
  if (parsed.stream_options && !isStream)
    throw invalidRequest('stream_options', 'stream_options is allowed only when stream is true');
  const toolChoice = parsed.tool_choice ?? 'auto';
  const isToolForced = toolChoice === 'required' || typeof toolChoice === 'object';
  if (isToolForced && !hasTools(parsed)) throw invalidRequest('tool_choice', 'tool_choice needs tools to choose from');
  const urls = findImageUrls(parsed.messages);
  const imageBytes = urls.reduce((sum, url) => sum + url.length, 0);
  if (body.bytes.length - imageBytes > body.maxTextBytes)
    throw new ApiError<BodyFault>({ kind: 'body_text_too_large', maxBytes: body.maxTextBytes });
  return {
    operation: 'chat',
    model: parsed.model,
    isStream,
    includeUsage: parsed.stream_options?.include_usage ?? false,
    isToolForced,
    requestedOutputTokens: parsed.max_completion_tokens ?? parsed.max_tokens,
    prompt: {
      textMembers: ['messages'],
      templateMembers: ['tools', 'response_format'],
      parts: parsed.messages.length,
      images: urls.length,
      imageBytes,
    },
    images: { urls, fetched: new Map() },
    body,
    checkModel: (model) => checkModel(parsed, urls.length, model),
    replacedMembers: (model) => replaceMembers(parsed, model),
    fallbackOn: (model) => (fallsBackToJsonObject(parsed, model) ? 'json_object_fallback' : undefined),
    tokenizeQuestions: () => [toTokenizeQuestion(parsed)],
  };
}

const hasTools = ({ tools }: ParsedChat): boolean => tools !== undefined && tools.length > 0;

function checkModel(parsed: ParsedChat, imageCount: number, model: PricedModel): void {
  if (!generatesText(model)) throw invalidRequest('model', `${model.id} does not serve chat completions`);
  if (hasTools(parsed) && !model.supportedFeatures.includes('tools'))
    throw invalidRequest('tools', `${model.id} does not support tools`);
  if (imageCount > 0 && !model.inputModalities.includes('image'))
    throw invalidRequest('messages', `${model.id} does not take images`);
}

function replaceMembers(parsed: ParsedChat, model: PricedModel): Map<string, unknown> {
  const replaced = new Map<string, unknown>();
  if (parsed.messages.some(({ role }) => role === 'developer')) replaced.set('messages', toEngineMessages(parsed));
  // An empty list means no tools, and without any there is nothing to choose; newer engines refuse both.
  if (!hasTools(parsed)) for (const name of ['tools', 'tool_choice']) replaced.set(name, undefined);
  if (fallsBackToJsonObject(parsed, model)) replaced.set('response_format', { type: 'json_object' });
  return replaced;
}

/** Whether a schema was asked for that the model cannot keep to: then any JSON object will do (specification, response_format). */
const fallsBackToJsonObject = ({ response_format: format }: ParsedChat, model: PricedModel): boolean =>
  format?.type === 'json_schema' && !model.supportedFeatures.includes('json_schema');

/** The conversation as engines know it: `developer` is the convention's newer name for `system`. */
const toEngineMessages = ({ messages }: ParsedChat): ParsedChat['messages'] =>
  messages.map((message) => (message.role === 'developer' ? { ...message, role: 'system' as const } : message));

/** All that the chat template sees, or the count would be another prompt's. */
const toTokenizeQuestion = (parsed: ParsedChat): object => ({
  messages: toEngineMessages(parsed).map(withoutRemoteImages),
  ...(hasTools(parsed) && { tools: parsed.tools }),
  ...(parsed.chat_template_kwargs !== null && { chat_template_kwargs: parsed.chat_template_kwargs }),
});

/** A text takes an image's place, as a template may not expect a message without parts. */
function withoutRemoteImages(message: ParsedChat['messages'][number]): object {
  const { content: parts } = message;
  if (!Array.isArray(parts)) return message;
  const isRemote = (part: (typeof parts)[number]) => part.type === 'image_url' && !isInline(urlOf(part));
  return { ...message, content: parts.map((part) => (isRemote(part) ? { type: 'text', text: '' } : part)) };
}

const HTTP_PATTERN = /^https?:/i;

const urlOf = ({ image_url: image }: z.output<typeof imagePart>): string =>
  typeof image === 'string' ? image : image.url;

/**
 * The address of every image, in order. Throws `image_unusable` for one that is neither inline nor http(s): nothing else
 * is looked at before the call is admitted.
 */
function findImageUrls(messages: ParsedChat['messages']): string[] {
  const parts = messages.flatMap(({ content: list }) => (Array.isArray(list) ? list : []));
  const urls = parts.flatMap((part) => (part.type === 'image_url' ? [urlOf(part)] : []));
  if (urls.length > MAX_IMAGES)
    throw invalidRequest('messages', `at most ${MAX_IMAGES} images are taken in one request`);
  if (!urls.every((url) => INLINE_IMAGE_PATTERN.test(url) || HTTP_PATTERN.test(url)))
    throw new ApiError<ImageFault>({ kind: 'image_unusable' });
  return urls;
}
