import {
  type CountTokensRequest,
  countTokensRequestSchema,
  type MessagesRequest,
  messagesRequestSchema,
} from '@turnpike/public-api/messagesRequest';
import { CHAT_API_PATHS, COUNT_TOKENS_PATH } from '@turnpike/public-api/operations';
import type { JsonBody } from '@turnpike/request-reading/body/readBody';
import { ANY_PLACE, type KeptPath } from '@turnpike/request-reading/body/scanJson';
import { createFieldReader } from '@turnpike/request-reading/fields/fieldReader';
import { CHAT } from './chatRequest.ts';
import type { InferenceRequest, Operation } from './inferenceRequest.ts';
import { toChatThinking } from './responsesRequest.ts';
import { type KnownBytes, knownBytesOf, parseAsChat } from './rewriteBody.ts';

/** JSON schemas, which may hold anything: they are passed on as they are. */
const KEPT: readonly KeptPath[] = [
  ['tools', ANY_PLACE, 'input_schema'],
  ['output_config', 'format', 'schema'],
  // The input of a call, whose digits are the client's own.
  ['messages', ANY_PLACE, 'content', ANY_PLACE, 'input'],
];

/** Names of a chat's fields in the Messages API. `system` is one more message of a chat: their places differ. */
const FIELD_NAMES: Readonly<Record<string, string>> = {
  messages: 'messages',
  tools: 'tools',
  response_format: 'output_config.format',
  reasoning_effort: 'output_config.effort',
  parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
  stop: 'stop_sequences',
  max_completion_tokens: 'max_tokens',
};

/** POST /v1/messages: a chat in another format. */
export const MESSAGES: Operation = {
  ...CHAT,
  clientPath: CHAT_API_PATHS.messages,
  fieldNames: FIELD_NAMES,
  // Images are text members here, so the limit on text is a chat's limit on bytes.
  limits: { ...CHAT.limits, maxTextBytes: CHAT.limits.maxBytes, kept: KEPT },
  parse: (body) => parseAs(readMessages(body.value), body, MESSAGES),
};

/** POST /v1/messages/count_tokens: a prompt that is counted and not run. */
export const COUNTED_MESSAGES: Operation = {
  ...MESSAGES,
  clientPath: COUNT_TOKENS_PATH,
  parse: (body) => parseAs(readCounted(body.value), body, COUNTED_MESSAGES),
};

const readMessages = createFieldReader(messagesRequestSchema);
const readCounted = createFieldReader(countTokensRequestSchema);

type Given = MessagesRequest | CountTokensRequest;

/** Turns a body of the Messages API into a chat. Throws `invalid_request`, and what a chat throws. */
async function parseAs(request: Given, body: JsonBody, operation: Operation): Promise<InferenceRequest> {
  const known = knownBytesOf(body);
  return { ...(await parseAsChat(toChat(request, known), known, operation)), isOutputFitted: true };
}

function toChat(request: Given, known: KnownBytes): object {
  const { model, system, messages, tools, tool_choice: choice, thinking, output_config: output } = request;
  const isSerial = choice && 'disable_parallel_tool_use' in choice && choice.disable_parallel_tool_use;
  return {
    model,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...messages.flatMap((message) => toChatMessages(message, known)),
    ],
    ...(tools && {
      tools: tools.map(({ type: _type, input_schema: parameters, ...fields }) => ({
        type: 'function',
        function: { ...fields, parameters },
      })),
    }),
    ...(choice && { tool_choice: toChatChoice(choice) }),
    ...(isSerial && { parallel_tool_calls: false }),
    ...(output?.format && {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: output.format.schema } },
    }),
    ...(thinking?.type === 'disabled' ? toChatThinking('none') : toChatThinking(output?.effort)),
    ...('max_tokens' in request && toChatSampling(request)),
  };
}

function toChatSampling({
  max_tokens,
  stop_sequences: stop,
  temperature,
  top_p,
  top_k,
  stream,
}: MessagesRequest): object {
  return {
    max_tokens,
    ...(stop && { stop }),
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { top_p }),
    ...(top_k !== undefined && { top_k }),
    // The last event but one has the usage.
    ...(stream && { stream: true, stream_options: { include_usage: true } }),
  };
}

function toChatChoice(choice: NonNullable<Given['tool_choice']>): unknown {
  if (choice.type === 'any') return 'required';
  return choice.type === 'tool' ? { type: 'function', function: { name: choice.name } } : choice.type;
}

type Message = Given['messages'][number];
type Block = Exclude<Message['content'], string>[number];
type Shown = Extract<Block, { type: 'text' | 'image' }>;

function toChatMessages({ role, content }: Message, known: KnownBytes): object[] {
  if (typeof content === 'string') return [{ role, content }];
  if (role === 'system') return [{ role, content }];
  if (role === 'assistant') return [toAssistantMessage(content, known)];
  // Results come first: they belong to the calls before.
  const results = content.filter((block) => block.type === 'tool_result');
  const rest = content.filter((block) => block.type !== 'tool_result');
  return [
    ...results.map(({ tool_use_id, content: given = '', is_error }) => ({
      role: 'tool',
      tool_call_id: tool_use_id,
      content: toResult(typeof given === 'string' ? given : toParts(given, known), is_error),
    })),
    ...(rest.length > 0 ? [{ role, content: toParts(rest, known) }] : []),
  ];
}

/** Marks a failed result in its text, because engines have no field for it. */
function toResult(content: string | object[], isError: boolean): string | object[] {
  if (!isError) return content;
  return typeof content === 'string' ? `Error: ${content}` : [{ type: 'text', text: 'Error:' }, ...content];
}

function toAssistantMessage(
  blocks: readonly Exclude<Block, { type: 'image' | 'tool_result' }>[],
  known: KnownBytes,
): object {
  const texts = blocks.filter((block) => block.type === 'text');
  const reasoning = blocks.map((block) => (block.type === 'thinking' ? block.thinking : '')).join('');
  const calls = blocks.filter((block) => block.type === 'tool_use');
  return {
    role: 'assistant',
    ...(texts.length > 0 && { content: texts }),
    ...(reasoning !== '' && { reasoning }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: known.get(input)?.[0]?.toString() ?? JSON.stringify(input) },
      })),
    }),
  };
}

const toParts = (blocks: readonly Shown[], known: KnownBytes): object[] =>
  blocks.map((block) => {
    if (block.type === 'text') return block;
    const { source } = block;
    if (source.type === 'url') return { type: 'image_url', image_url: { url: source.url } };
    const head = `data:${source.media_type};base64,`;
    const url = `${head}${source.data}`;
    const [bytes] = known.get(source.data) ?? [];
    // The image's own bytes, behind the beginning of its address.
    if (bytes) known.set(url, [Buffer.from(JSON.stringify(head).slice(0, -1)), bytes.subarray(1)]);
    return { type: 'image_url', image_url: { url } };
  });
