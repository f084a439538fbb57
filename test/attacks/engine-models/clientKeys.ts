/** The kind of a value, by its place in requests. */
export type Form =
  | { is: 'text'; words?: readonly string[] }
  | { is: 'flag' }
  | { is: 'content' }
  | { is: 'schema' }
  | { is: 'image' }
  | { is: 'object'; place: Place }
  | { is: 'list'; place: Place | 'message' };

/** An object below a request's body: a message by its role, a content part by its type, and what they hold. */
export type Place =
  | `message.${Role}`
  | `part.${PartType}`
  | 'image_url'
  | 'tool_call'
  | 'tool_call.function'
  | 'tool'
  | 'tool.function'
  | 'tool_choice'
  | 'tool_choice.function'
  | `response_format.${'text' | 'json_object' | 'json_schema'}`
  | 'json_schema'
  | 'stream_options'
  | 'chat_template_kwargs';

type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function';
type PartType = 'text' | 'refusal' | 'image_url';

export interface PlaceKeys {
  /** The keys on the way there, in the engines’ request models for chat. */
  path: readonly string[];
  /** Written anew for the engine, in this form. */
  keep: Record<string, Form>;
  /** Those of them that have to be there. */
  needs: readonly string[];
  /** Taken, since popular clients send it, and never passed on: no engine reads it there, or it means nothing here. */
  drop: readonly string[];
}

const text: Form = { is: 'text' };
const flag: Form = { is: 'flag' };
const word = (...words: string[]): Form => ({ is: 'text', words });

// Marks that LangChain, LiteLLM and the AI SDK pass through for providers that cache by mark.
const CACHE_MARKS = ['cache_control', 'prompt_cache_breakpoint'];

const MESSAGES = ['messages'];
const messageOf = (role: Role, { keep = {}, needs = ['content'], drop = [] }: Partial<PlaceKeys> = {}): PlaceKeys => ({
  path: MESSAGES,
  keep: { role: word(role), content: { is: 'content' }, name: text, ...keep },
  needs: ['role', ...needs],
  drop: ['cache_control', ...drop],
});

const CONTENT = ['messages', 'content'];
const formatOf = (type: string, keep: Record<string, Form> = {}): PlaceKeys => ({
  path: ['response_format'],
  keep: { type: word(type), ...keep },
  needs: ['type', ...Object.keys(keep)],
  drop: [],
});

/**
 * The keys that real clients send below the objects of a request, such as `messages` and `tools`. The clients are the openai packages,
 * the AI SDK, LangChain and LiteLLM. Null counts as absent. Any other key is refused.
 */
export const clientKeys: Record<Place, PlaceKeys> = {
  'message.system': messageOf('system'),
  'message.developer': messageOf('developer'),
  'message.user': messageOf('user'),
  'message.assistant': messageOf('assistant', {
    // vLLM renames the second to the first; SGLang and older releases read the second.
    keep: { tool_calls: { is: 'list', place: 'tool_call' }, reasoning: text, reasoning_content: text },
    needs: [],
    drop: [
      // Fields of answers that are sent back unchanged.
      ...['refusal', 'function_call', 'audio', 'annotations', 'parsed'],
      // Fields of LiteLLM, OpenRouter and the AI SDK.
      ...[
        'reasoning_details',
        'thinking_blocks',
        'reasoning_items',
        'images',
        'provider_specific_fields',
        'extra_content',
      ],
    ],
  }),
  'message.tool': messageOf('tool', { keep: { tool_call_id: text }, needs: ['content', 'tool_call_id'] }),
  'message.function': messageOf('function', { needs: ['name'], drop: ['tool_call_id'] }),
  'part.text': {
    path: CONTENT,
    keep: { type: word('text'), text },
    needs: ['type', 'text'],
    drop: [...CACHE_MARKS, 'annotations', 'index'],
  },
  'part.refusal': {
    path: CONTENT,
    keep: { type: word('refusal'), refusal: text },
    needs: ['type', 'refusal'],
    drop: ['cache_control'],
  },
  'part.image_url': {
    path: CONTENT,
    keep: { type: word('image_url'), image_url: { is: 'object', place: 'image_url' } },
    needs: ['type', 'image_url'],
    drop: [...CACHE_MARKS, 'index'],
  },
  image_url: {
    path: [...CONTENT, 'image_url'],
    keep: { url: { is: 'image' }, detail: word('auto', 'low', 'high') },
    needs: ['url'],
    drop: ['format'],
  },
  tool_call: {
    path: ['messages', 'tool_calls'],
    keep: { id: text, type: word('function'), function: { is: 'object', place: 'tool_call.function' } },
    needs: ['id', 'type', 'function'],
    drop: ['index', 'extra_content', 'provider_specific_fields', 'cache_control'],
  },
  'tool_call.function': {
    path: ['messages', 'tool_calls', 'function'],
    keep: { name: text, arguments: text },
    needs: ['name', 'arguments'],
    drop: ['parsed_arguments', 'provider_specific_fields'],
  },
  tool: {
    path: ['tools'],
    keep: { type: word('function'), function: { is: 'object', place: 'tool.function' } },
    needs: ['type', 'function'],
    drop: ['cache_control'],
  },
  'tool.function': {
    path: ['tools', 'function'],
    keep: { name: text, description: text, parameters: { is: 'schema' }, strict: flag },
    needs: ['name'],
    drop: [],
  },
  tool_choice: {
    path: ['tool_choice'],
    keep: { type: word('function'), function: { is: 'object', place: 'tool_choice.function' } },
    needs: ['type', 'function'],
    drop: [],
  },
  'tool_choice.function': { path: ['tool_choice', 'function'], keep: { name: text }, needs: ['name'], drop: [] },
  'response_format.text': formatOf('text'),
  'response_format.json_object': formatOf('json_object'),
  'response_format.json_schema': formatOf('json_schema', { json_schema: { is: 'object', place: 'json_schema' } }),
  json_schema: {
    path: ['response_format', 'json_schema'],
    keep: { name: text, schema: { is: 'schema' }, strict: flag, description: text },
    needs: ['name'],
    drop: [],
  },
  stream_options: {
    path: ['stream_options'],
    keep: { include_usage: flag },
    needs: [],
    drop: ['continuous_usage_stats', 'include_obfuscation'],
  },
  chat_template_kwargs: { path: ['chat_template_kwargs'], keep: { enable_thinking: flag }, needs: [], drop: [] },
};

export const places = Object.keys(clientKeys) as Place[];
