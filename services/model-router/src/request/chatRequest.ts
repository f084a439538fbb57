import { ApiError } from '@turnpike/public-api/apiError';
import { type ChatRequest, chatRequestSchema, MAX_MESSAGES } from '@turnpike/public-api/chatRequest';
import { OPERATION_PATHS } from '@turnpike/public-api/operations';
import type { JsonBody } from '@turnpike/request-reading/body/readBody';
import { ANY_PLACE, type KeptPath } from '@turnpike/request-reading/body/scanJson';
import type { BodyFault } from '@turnpike/request-reading/faults/bodyFault';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import { createFieldReader } from '@turnpike/request-reading/fields/fieldReader';
import { isInline, toTypedDataUrl } from '@turnpike/request-reading/images/decodeInlineImage';
import type { ImageFault } from '../api/inferenceFault.ts';
import { generatesText, nameModelsThat, type PricedModel, toWrongOperation } from '../catalog/catalog.ts';
import {
  AS_WRITTEN,
  type InferenceRequest,
  type Operation,
  type RequestForm,
  type RequestImages,
} from './inferenceRequest.ts';
import { leastTopP, readTemplateSwitch, refuseEngineControlKeys, refuseSeedBeyond64Bits } from './requestFields.ts';

const MIB = 1_048_576;
const MAX_IMAGES = 16;
/** The most parts and tool calls in all messages together: so many are checked and written in a few milliseconds. */
const MAX_PARTS = 4_096;
const MAX_TOOL_CALLS = 4_096;

/** JSON schemas, which may hold anything: they are passed on as they are. */
export const KEPT_IN_CHATS: readonly KeptPath[] = [
  ['tools', ANY_PLACE, 'function', 'parameters'],
  ['response_format', 'json_schema', 'schema'],
  ['response_format', 'schema'],
];

/** POST /v1/chat/completions. */
export const CHAT: Operation = {
  name: 'chat',
  path: OPERATION_PATHS.chat,
  clientPath: OPERATION_PATHS.chat,
  limits: { maxBytes: 20 * MIB, maxTextBytes: 4 * MIB, kept: KEPT_IN_CHATS },
  parse: parseChatRequest,
  isGenerating: true,
  maxWholeOutputTokens: 2_048,
  prefixMembers: ['tools', 'messages'],
  isAskedByBody: true,
};

type Message = ChatRequest['messages'][number];

const readFields = createFieldReader(chatRequestSchema);

/**
 * Checks a chat body against the focused subset. Throws `invalid_request`,
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
  // An empty list means no tools, and without any there is nothing to choose; newer engines refuse both.
  const tools = parsed.tools?.length ? parsed.tools : undefined;
  if (isToolForced && !tools) throw invalidRequest('tool_choice', 'tool_choice needs tools to choose from');
  const images = findImages(parsed.messages);
  const imageBytes = images.urls.reduce((sum, url) => sum + url.length, 0);
  if (body.bytes.length - imageBytes > body.maxTextBytes)
    throw new ApiError<BodyFault>({ kind: 'body_text_too_large', maxBytes: body.maxTextBytes });
  const templateSwitch = readTemplateSwitch(body.value);
  const messages = parsed.messages.map(toEngineMessage);
  const format = toEngineFormat(parsed.response_format);
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
      response_format: format,
      chat_template_kwargs: templateSwitch,
      ...leastTopP(parsed.top_p),
    },
    checkModel(model, served) {
      if (!generatesText(model)) throw invalidRequest('model', toWrongOperation(model, 'chat completions'));
      if (tools && !model.supportedFeatures.includes('tools'))
        throw invalidRequest(
          'tools',
          `${model.id} does not support tools${nameModelsThat(served, hasFeature('tools'))}`,
        );
      if (images.urls.length > 0 && !takesImages(model))
        throw invalidRequest('messages', `${model.id} does not take images${nameModelsThat(served, takesImages)}`);
      if (format?.type === 'json_schema' && format.json_schema.strict && !hasSchemas(model))
        throw invalidRequest(
          'response_format',
          `${model.id} takes json_object, and no strict json_schema${nameModelsThat(served, hasSchemas)}`,
        );
    },
    formFor: ({ supportedFeatures }) =>
      format?.type === 'json_schema' && !supportedFeatures.includes('json_schema') ? ANY_JSON_OBJECT : AS_WRITTEN,
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

/** Takes the place of a schema that the model cannot keep to. */
const ANY_JSON_OBJECT: RequestForm = {
  replaced: new Map([['response_format', { type: 'json_object' }]]),
  fallback: 'json_object_fallback',
};

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

const hasFeature =
  (feature: string) =>
  (model: PricedModel): boolean =>
    generatesText(model) && model.supportedFeatures.includes(feature);
const hasSchemas = hasFeature('json_schema');
const takesImages = (model: PricedModel): boolean => generatesText(model) && model.inputModalities.includes('image');

type Format = NonNullable<ChatRequest['response_format']>;
type EngineFormat = { type: 'text' | 'json_object' } | Extract<Format, { type: 'json_schema' }>;

/**
 * Converts a format to the engines' form. `json_object` with a schema becomes a non-strict `json_schema`, and
 * `json_schema` without one becomes `json_object`.
 */
function toEngineFormat(format: Format | undefined): EngineFormat | undefined {
  if (format?.type === 'json_schema') return format.json_schema.schema ? format : { type: 'json_object' };
  if (format?.type !== 'json_object' || format.schema === undefined) return format;
  const { schema } = format;
  return { type: 'json_schema', json_schema: { name: 'response', description: undefined, schema, strict: undefined } };
}

type Part = Exclude<NonNullable<Message['content']>, string>[number];
type EngineMessage = Omit<Message, 'content'> & { content?: string | object[] | null | undefined };

/**
 * Converts a message to the engines' form. `developer` is the convention's newer name for `system`. An empty list of
 * tool calls is dropped, and an answer of tool calls only gets null content.
 */
const toEngineMessage = (message: Message): EngineMessage => ({
  ...(message.role === 'assistant' && { content: null }),
  ...message,
  ...(message.role === 'developer' && { role: 'system' }),
  ...(Array.isArray(message.content) && { content: message.content.map(toEnginePart) }),
  ...(message.role === 'assistant' && message.tool_calls?.length === 0 && { tool_calls: undefined }),
});

/** Converts a part to the engines' form. A refusal becomes a text, because only some engines know refusals. */
function toEnginePart(part: Part): object {
  if (part.type === 'refusal') return { type: 'text', text: part.refusal };
  return part.type === 'image_url' ? { type: part.type, image_url: toImage(part) } : part;
}

/** Replaces remote images by empty texts, because a chat template may fail on a message without parts. */
function withoutRemoteImages({ content: parts, ...others }: Message): object {
  const toPart = (part: Part) =>
    part.type !== 'image_url' || isInline(toImage(part).url) ? toEnginePart(part) : { type: 'text', text: '' };
  return { ...toEngineMessage(others as Message), content: Array.isArray(parts) ? parts.map(toPart) : parts };
}

const HTTP_PATTERN = /^https?:/i;

/**
 * Converts an image to the engines' form; a bare address is an image too. Throws `image_unusable` for an address that
 * is neither http(s) nor a base64 data URL of an image.
 */
function toImage({ image_url: image }: Extract<Part, { type: 'image_url' }>): { url: string; detail?: string } {
  const { url: address, detail = undefined } = typeof image === 'string' ? { url: image } : image;
  const url = HTTP_PATTERN.test(address) ? address : toTypedDataUrl(address);
  if (url === undefined) throw new ApiError<ImageFault>({ kind: 'image_unusable' });
  return { url, ...(detail !== undefined && { detail: detail === 'original' ? 'high' : detail }) };
}

/**
 * Returns the address of every image, in order. Throws `image_unusable`. Images are not fetched before the call is
 * admitted.
 */
function findImages(messages: ChatRequest['messages']): RequestImages {
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
  return { urls, places, fetched: new Map() };
}
