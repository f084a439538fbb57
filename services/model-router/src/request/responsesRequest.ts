import { MAX_TOOL_NAME_LENGTH } from '@turnpike/public-api/chatRequest';
import { CHAT_API_PATHS } from '@turnpike/public-api/operations';
import {
  type ResponsesItem,
  type ResponsesRequest,
  responsesRequestSchema,
} from '@turnpike/public-api/responsesRequest';
import type { JsonBody } from '@turnpike/request-reading/body/readBody';
import { ANY_PLACE, type KeptPath } from '@turnpike/request-reading/body/scanJson';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import { createFieldReader } from '@turnpike/request-reading/fields/fieldReader';
import { CHAT } from './chatRequest.ts';
import type { InferenceRequest, Operation, ResponsesEcho } from './inferenceRequest.ts';
import { knownBytesOf, parseAsChat } from './rewriteBody.ts';

/** JSON schemas, which may hold anything: they are passed on as they are. */
const KEPT: readonly KeptPath[] = [
  ['tools', ANY_PLACE, 'parameters'],
  ['tools', ANY_PLACE, 'tools', ANY_PLACE, 'parameters'],
  ['text', 'format', 'schema'],
];

/** Names of a chat's fields in the Responses API. Items make other messages, and namespaces other tools: their places differ. */
const FIELD_NAMES: Readonly<Record<string, string>> = {
  messages: 'input',
  tools: 'tools',
  response_format: 'text.format',
  reasoning_effort: 'reasoning.effort',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
};

/** POST /v1/responses: a chat in another format. */
export const RESPONSES: Operation = {
  ...CHAT,
  clientPath: CHAT_API_PATHS.responses,
  fieldNames: FIELD_NAMES,
  limits: { ...CHAT.limits, kept: KEPT },
  parse: parseResponsesRequest,
};

const readFields = createFieldReader(responsesRequestSchema);

/** Converts a body of the Responses API to a chat. Throws `invalid_request`, and the faults of a chat. */
async function parseResponsesRequest(body: JsonBody): Promise<InferenceRequest> {
  const request = readFields({ ...body.value, input: withTypes(body.value.input) });
  const namespaced = readNames(request);
  const chat = await parseAsChat(toChat(request), knownBytesOf(body), RESPONSES);
  return { ...chat, echo: { fields: toRepeated(request), namespaced } };
}

/** Adds the type `message` to items without a type or with a null one. */
function withTypes(input: unknown): unknown {
  if (!Array.isArray(input)) return input;
  return input.map((item: unknown) =>
    typeof item === 'object' && item !== null && (item as { type?: unknown }).type == null
      ? { ...item, type: 'message' }
      : item,
  );
}

/** Returns the name of a function on engines: its namespace comes first. */
const flatNameOf = (namespace: string | undefined, name: string): string =>
  namespace === undefined ? name : `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}`;

/**
 * Returns the functions of namespaces by their names on engines. Throws `invalid_request` if such a name is too long or
 * used twice, because an answer could not name the called function.
 */
function readNames({ tools = [] }: ResponsesRequest): ResponsesEcho['namespaced'] {
  const flat = new Set(tools.map((tool) => (tool.type === 'function' ? tool.name : undefined)));
  const namespaced = new Map<string, { namespace: string; name: string }>();
  for (const [index, tool] of tools.entries()) {
    if (tool.type !== 'namespace') continue;
    for (const [place, { name }] of tool.tools.entries()) {
      const known = flatNameOf(tool.name, name);
      const param = `tools[${index}].tools[${place}].name`;
      if (known.length > MAX_TOOL_NAME_LENGTH)
        throw invalidRequest(param, `${param} has with its namespace more than ${MAX_TOOL_NAME_LENGTH} characters`);
      if (flat.has(known) || namespaced.has(known))
        throw invalidRequest(param, `${param} is with its namespace the name of another function`);
      namespaced.set(known, { namespace: tool.name, name });
    }
  }
  return namespaced;
}

function toChat(request: ResponsesRequest): object {
  const { instructions, input, tools = [], tool_choice: choice, text, reasoning } = request;
  const offered = tools.flatMap((tool) =>
    tool.type === 'namespace'
      ? tool.tools.map((each) => ({ ...each, name: flatNameOf(tool.name, each.name) }))
      : [tool],
  );
  const isAllowed = toAllowed(choice, offered);
  return {
    model: request.model,
    messages: [
      ...(instructions === undefined ? [] : [{ role: 'system', content: instructions }]),
      ...(typeof input === 'string' ? [{ role: 'user', content: input }] : toMessages(input)),
    ],
    ...(tools.length > 0 && { tools: offered.filter(({ name }) => isAllowed(name)).map(toChatTool) }),
    ...(choice !== undefined && { tool_choice: toChatChoice(choice) }),
    ...(text?.format && { response_format: toChatFormat(text.format) }),
    ...toChatThinking(reasoning?.effort),
    ...(request.parallel_tool_calls !== undefined && { parallel_tool_calls: request.parallel_tool_calls }),
    ...(request.max_output_tokens !== undefined && { max_completion_tokens: request.max_output_tokens }),
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.top_p !== undefined && { top_p: request.top_p }),
    // The last event has the usage.
    ...(request.stream && { stream: true, stream_options: { include_usage: true } }),
  };
}

const toChatTool = ({ type, ...fields }: { type: 'function'; name: string }) => ({ type, function: fields });

type Choice = NonNullable<ResponsesRequest['tool_choice']>;

/**
 * Returns whether an offered function may be called. Throws `invalid_request` if the choice names a function that is
 * not offered.
 */
function toAllowed(choice: Choice | undefined, offered: readonly { name: string }[]): (name: string) => boolean {
  if (typeof choice !== 'object' || choice.type !== 'allowed_tools') return () => true;
  const allowed = choice.tools.map(({ namespace, name }) => flatNameOf(namespace, name));
  const stranger = allowed.findIndex((name) => offered.every((tool) => tool.name !== name));
  const param = `tool_choice.tools[${stranger}].name`;
  if (stranger !== -1) throw invalidRequest(param, `${param} must name one of tools`);
  return (name) => allowed.includes(name);
}

function toChatChoice(choice: Choice): unknown {
  if (typeof choice === 'string') return choice;
  if (choice.type === 'allowed_tools') return choice.mode;
  return { type: 'function', function: { name: flatNameOf(choice.namespace, choice.name) } };
}

function toChatFormat(format: NonNullable<NonNullable<ResponsesRequest['text']>['format']>): object {
  if (format.type !== 'json_schema') return format;
  const { type, ...schema } = format;
  return { type, json_schema: schema };
}

const EFFORTS: Readonly<Record<string, string>> = { minimal: 'low', xhigh: 'high', max: 'high' };

/** Returns the reasoning effort in the engines' form. */
export function toChatThinking(effort: string | undefined): object {
  if (effort === undefined) return {};
  return effort === 'none'
    ? { chat_template_kwargs: { enable_thinking: false } }
    : { reasoning_effort: EFFORTS[effort] ?? effort };
}

interface AssistantMessage {
  role: 'assistant';
  content?: unknown;
  reasoning?: string;
  tool_calls?: object[];
}

/** Merges the model's text, reasoning and calls of a turn into one message. Each tool result becomes a message. */
function toMessages(items: readonly ResponsesItem[]): object[] {
  const messages: object[] = [];
  let turn: AssistantMessage | undefined;
  const ofTurn = (): AssistantMessage => {
    if (turn) return turn;
    turn = { role: 'assistant' };
    messages.push(turn);
    return turn;
  };
  for (const item of items) {
    switch (item.type) {
      case 'reasoning': {
        // Reasoning comes before the text that follows it.
        if (turn && (turn.content !== undefined || turn.tool_calls)) turn = undefined;
        const thought = (item.content ?? []).map(({ text }) => text).join('');
        if (thought !== '') ofTurn().reasoning = `${turn?.reasoning ?? ''}${thought}`;
        break;
      }
      case 'function_call': {
        const message = ofTurn();
        const name = flatNameOf(item.namespace, item.name);
        message.tool_calls ??= [];
        message.tool_calls.push({ id: item.call_id, type: 'function', function: { name, arguments: item.arguments } });
        break;
      }
      case 'function_call_output':
        turn = undefined;
        messages.push({ role: 'tool', tool_call_id: item.call_id, content: toChatContent(item.output) });
        break;
      case 'message':
        if (item.role === 'assistant') {
          if (turn && (turn.content !== undefined || turn.tool_calls)) turn = undefined;
          ofTurn().content = toChatContent(item.content);
        } else {
          turn = undefined;
          messages.push({ role: item.role, content: toChatContent(item.content) });
        }
        break;
    }
  }
  return messages;
}

type Content = Extract<ResponsesItem, { type: 'message' }>['content'];

const toChatContent = (content: Content): unknown =>
  typeof content === 'string'
    ? content
    : content.map((part) => {
        if (part.type === 'refusal') return part;
        if (part.type !== 'input_image') return { type: 'text', text: part.text };
        const { image_url: url, detail } = part;
        return { type: 'image_url', image_url: { url, ...(detail !== undefined && { detail }) } };
      });

/** Lists the fields that an answer repeats of its request; those that were left out with their defaults. */
export function toRepeated(request: ResponsesRequest): Record<string, unknown> {
  return {
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: null },
    store: false,
    temperature: request.temperature ?? null,
    text: { format: request.text?.format ?? { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_p: request.top_p ?? null,
    truncation: 'disabled',
  };
}
