import { ApiError } from '@turnpike/api-errors/apiError';
import { z } from 'zod';
import { generatesText, type PricedModel } from '../catalog/catalog.ts';
import type { InferenceRequest } from './inferenceRequest.ts';
import type { BodyFault, JsonBody } from './readBody.ts';
import { generationFields, invalidRequest, optional, parseFields, refuseEngineControlKeys } from './requestFields.ts';

const MAX_IMAGES = 16;
const MAX_TOOLS = 128;

const textPart = z.looseObject({ type: z.literal('text'), text: z.string() });
const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });
const imagePart = z.looseObject({
  type: z.literal('image_url'),
  image_url: z.union([z.looseObject({ url: z.string().min(1) }), z.string().min(1)], 'must be {"url": "…"}'),
});
const content = z.union(
  [
    z.string(),
    z.array(
      z.discriminatedUnion('type', [textPart, refusalPart, imagePart], 'content parts are text, image_url and refusal'),
    ),
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
const message = z.discriminatedUnion(
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
  'role must be one of system, developer, user, assistant, tool',
);
const functionChoice = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({ name: z.string().min(1) }),
});

const chatRequestSchema = z.looseObject({
  ...generationFields,
  messages: z.array(message).min(1, 'must hold at least one message'),
  tools: optional(
    z
      .array(
        z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string().min(1).max(256) }) }),
      )
      .max(MAX_TOOLS),
  ),
  tool_choice: optional(
    z.union([z.enum(['none', 'auto', 'required']), functionChoice], 'must be none, auto, required or a named function'),
  ),
  response_format: optional(
    z.discriminatedUnion(
      'type',
      [
        z.looseObject({ type: z.literal('text') }),
        z.looseObject({ type: z.literal('json_object') }),
        z.looseObject({
          type: z.literal('json_schema'),
          json_schema: z.looseObject({ name: z.string(), schema: optional(z.looseObject({})) }),
        }),
      ],
      'type must be text, json_object or json_schema',
    ),
  ),
  logprobs: optional(z.literal(false, 'logprobs are not supported')),
  top_logprobs: optional(z.never('top_logprobs is not supported')),
});

type ParsedChat = z.output<typeof chatRequestSchema>;

/**
 * Checks a chat body against the focused subset (specification, Chat completion request fields). Throws `invalid_request`,
 * or `body_text_too_large` if strings that looked like inline images are none.
 */
export function parseChatRequest(body: JsonBody): InferenceRequest {
  refuseEngineControlKeys(body.value);
  const parsed = parseFields(chatRequestSchema, body.value);
  const isStream = parsed.stream ?? false;
  if (parsed.stream_options && !isStream)
    throw invalidRequest('stream_options', 'stream_options is allowed only when stream is true');
  const toolChoice = parsed.tool_choice ?? 'auto';
  const isToolForced = toolChoice === 'required' || typeof toolChoice === 'object';
  if (isToolForced && !hasTools(parsed)) throw invalidRequest('tool_choice', 'tool_choice needs tools to choose from');
  const images = measureImages(parsed.messages);
  if (body.bytes.length - images.bytes > body.maxTextBytes)
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
      images: images.count,
      imageBytes: images.bytes,
    },
    body,
    checkModel: (model) => checkModel(parsed, images.count, model),
    replacedMembers: (model) => replaceMembers(parsed, model),
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
  // An empty list means no tools; newer engines refuse it.
  if (parsed.tools?.length === 0) replaced.set('tools', undefined);
  if (parsed.response_format?.type === 'json_schema' && !model.supportedFeatures.includes('json_schema'))
    replaced.set('response_format', { type: 'json_object' });
  return replaced;
}

/** The conversation as engines know it: `developer` is the convention's newer name for `system`. */
const toEngineMessages = ({ messages }: ParsedChat): object[] =>
  messages.map((message) => (message.role === 'developer' ? { ...message, role: 'system' } : message));

/** All that the chat template sees, or the count would be another prompt's. */
const toTokenizeQuestion = (parsed: ParsedChat): object => ({
  messages: toEngineMessages(parsed),
  ...(hasTools(parsed) && { tools: parsed.tools }),
  ...(parsed.chat_template_kwargs !== null && { chat_template_kwargs: parsed.chat_template_kwargs }),
});

const INLINE_IMAGE = /^data:image\/(?:png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}$/;

/** Counts images and refuses what is not one inline: engines have no way out, so nothing else would reach them. */
function measureImages(messages: ParsedChat['messages']): { count: number; bytes: number } {
  let count = 0;
  let bytes = 0;
  for (const [index, { content: parts }] of messages.entries()) {
    if (!Array.isArray(parts)) continue;
    for (const part of parts) {
      if (part.type !== 'image_url') continue;
      count += 1;
      const { image_url: image } = part;
      const url = typeof image === 'string' ? image : image.url;
      bytes += url.length;
      if (!INLINE_IMAGE.test(url)) {
        throw invalidRequest(
          `messages[${index}].content`,
          'The image cannot be fetched or decoded. Send it as a base64 data URL of a PNG, JPEG, WebP or GIF.',
        );
      }
    }
  }
  if (count > MAX_IMAGES) throw invalidRequest('messages', `at most ${MAX_IMAGES} images are taken in one request`);
  return { count, bytes };
}
