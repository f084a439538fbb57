import { type JsonTree, toTree, writeTree } from '../fuzz/cases/jsonTree.ts';
import {
  changeAt,
  type Path,
  PNG,
  TEXT_MODEL,
  VALUES,
  VISION_MODEL,
  VOCABULARY,
  withMember,
  withoutMember,
} from './hostileParts.ts';

/** A body of another API whose chat some engine could read as something else than the gateway does. */
export interface HostileItem {
  path: '/responses' | '/messages';
  about: string;
  write(): string;
}

/** Names that every object of JavaScript has, and words that chat templates are made of. */
const NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '<|im_end|>', '</tool_response>', '[INST]'];

const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const words = { type: 'input_text', text: 'hi' };
const RESPONSES: object[] = [
  {
    model: TEXT_MODEL,
    max_output_tokens: 2,
    instructions: 'Be short.',
    input: [
      { type: 'message', role: 'developer', content: 'Be kind.' },
      { type: 'message', role: 'user', content: [words] },
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'It asks for the weather.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.', annotations: [] }] },
      { type: 'function_call', call_id: 'c1', name: 'forecast', arguments: '{"city":"Bern"}' },
      { type: 'function_call_output', call_id: 'c1', output: [words] },
      { type: 'message', role: 'system', content: [words] },
    ],
    tools: [
      { type: 'function', name: 'forecast', description: 'Of the weather.', parameters, strict: false },
      {
        type: 'namespace',
        name: 'files',
        description: 'Files.',
        tools: [{ type: 'function', name: 'read', parameters }],
      },
    ],
    tool_choice: { type: 'function', name: 'forecast' },
    reasoning: { effort: 'low' },
    metadata: { a: 'b' },
  },
  {
    model: VISION_MODEL,
    max_output_tokens: 2,
    input: [
      { role: 'user', content: [words, { type: 'input_image', image_url: PNG, detail: 'low' }] },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_image', image_url: PNG }] },
    ],
  },
  {
    model: TEXT_MODEL,
    max_output_tokens: 2,
    input: 'hi',
    text: { format: { type: 'json_schema', name: 'a', schema: parameters, strict: true } },
  },
];

const text = { type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } };
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG.split(',')[1] } };
const MESSAGES: object[] = [
  {
    model: TEXT_MODEL,
    max_tokens: 2,
    system: [text],
    messages: [
      { role: 'user', content: [text] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'It asks for the weather.', signature: 'unsigned' },
          { type: 'redacted_thinking', data: 'x' },
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'c1', name: 'forecast', input: { city: 'Bern' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: [text], is_error: true }, text] },
      { role: 'system', content: [text] },
      { role: 'user', content: 'And now?' },
    ],
    tools: [{ name: 'forecast', description: 'Of the weather.', input_schema: parameters }],
    tool_choice: { type: 'tool', name: 'forecast' },
    output_config: { effort: 'low' },
    metadata: { user_id: 'u' },
  },
  {
    model: VISION_MODEL,
    max_tokens: 2,
    messages: [
      { role: 'user', content: [text, image, { type: 'image', source: { type: 'url', url: PNG } }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'look', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: [text, image] }] },
    ],
  },
  {
    model: TEXT_MODEL,
    max_tokens: 2,
    messages: [{ role: 'user', content: 'hi' }],
    output_config: { format: { type: 'json_schema', schema: parameters } },
    thinking: { type: 'disabled' },
  },
];

const GOOD: { path: HostileItem['path']; body: object }[] = [
  ...RESPONSES.map((body) => ({ path: '/responses' as const, body })),
  ...MESSAGES.map((body) => ({ path: '/messages' as const, body })),
];

/** The good bodies that hostile ones are made of. */
export const goodItems = (): HostileItem[] =>
  GOOD.map(({ path, body }) => ({ path, about: 'good', write: () => JSON.stringify(body) }));

/** Every object of a body, but for those within schemas and within the input of a call, which are passed on as they are. */
function* objectsOf(value: unknown, path: Path = []): Generator<{ path: Path; object: Record<string, unknown> }> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield { path, object: value as Record<string, unknown> };
  for (const [key, member] of Object.entries(value)) {
    if (['parameters', 'input_schema', 'schema', 'metadata'].includes(key) || path.at(-1) === 'tool_use') continue;
    yield* objectsOf(member, [...path, Array.isArray(value) ? Number(key) : key]);
  }
}

const ODD_VALUES: unknown[] = [
  ...VALUES,
  ...NAMES,
  '',
  {},
  [],
  [5],
  -1,
  1.5,
  { $ref: '#' },
  [[words]],
  [text],
  [image],
];
const KINDS = [
  ...[
    'input_file',
    'input_audio',
    'item_reference',
    'computer_call',
    'mcp_call',
    'custom_tool_call',
    'local_shell_call',
  ],
  ...[
    'document',
    'search_result',
    'server_tool_use',
    'web_search_tool_result',
    'container_upload',
    'image_url',
    'video_url',
  ],
];

/** All hostile bodies, in one order. */
export function* listHostileItems(): Generator<HostileItem> {
  for (const { path: apiPath, body } of GOOD) {
    const tree = toTree(body);
    const changed = (path: Path, about: string, change: (at: JsonTree) => JsonTree): HostileItem => ({
      path: apiPath,
      about: `${path.join('.')}: ${about}`,
      write: () => writeTree(changeAt(tree, path, change)),
    });
    for (const { path, object } of objectsOf(body)) {
      const put = (key: string, value: unknown, about: string, isFirst = false): HostileItem =>
        changed(path, `${about} ${key}`, (at) =>
          withMember(at, { key: JSON.stringify(key), value: toTree(value) }, !isFirst),
        );
      for (const key of [...VOCABULARY, 'cache_control', 'citations'].filter((name) => !Object.hasOwn(object, name)))
        for (const value of VALUES) yield put(key, value, 'foreign key');
      for (const key of Object.keys(object)) {
        yield changed(path, `no ${key}`, (at) => withoutMember(at, key));
        for (const value of ODD_VALUES) {
          yield changed(path, `wrong value of ${key}`, (at) =>
            withMember(withoutMember(at, key), { key: JSON.stringify(key), value: toTree(value) }),
          );
          yield put(key, value, 'twice', value === null);
        }
      }
      for (const type of KINDS)
        yield changed(path, `kind ${type}`, (at) =>
          withMember(withoutMember(at, 'type'), { key: '"type"', value: toTree(type) }),
        );
    }
  }
}

const aResponse = (input: unknown, fields: object = {}) => ({
  model: TEXT_MODEL,
  max_output_tokens: 2,
  input,
  ...fields,
});
const aMessage = (messages: object[], fields: object = {}) => ({
  model: TEXT_MODEL,
  max_tokens: 2,
  messages,
  ...fields,
});
const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const functionTool = (name: string) => ({ type: 'function', name, parameters });
const namespace = (name: string, ...tools: string[]) => ({ type: 'namespace', name, tools: tools.map(functionTool) });
const user = { role: 'user', content: 'hi' };

/** Bodies that are 400, with the field that is named. */
export const REFUSED_ITEMS: [about: string, path: HostileItem['path'], body: object | string, param: RegExp][] = [
  [
    'a function of a namespace whose name is another function’s',
    '/responses',
    aResponse('hi', { tools: [functionTool('files__read'), namespace('files', 'read')] }),
    /^tools\[1\]/,
  ],
  [
    'functions of two namespaces that have one name for engines',
    '/responses',
    aResponse('hi', { tools: [namespace('files', 'read'), namespace('files__', 'read')] }),
    /^tools\[1\]/,
  ],
  [
    'a reference to an item that is not stored',
    '/responses',
    aResponse([{ type: 'item_reference', id: 'm' }]),
    /^input/,
  ],
  ['a file', '/responses', aResponse([{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }]), /^input/],
  ['a document', '/messages', aMessage([{ role: 'user', content: [{ type: 'document', source: {} }] }]), /^messages/],
  [
    'a result within a result',
    '/messages',
    aMessage([
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'tool_result' }] }] },
    ]),
    /^messages/,
  ],
  [
    'a call by the user',
    '/messages',
    aMessage([{ role: 'user', content: [{ type: 'tool_use', id: 'a', name: 'b', input: {} }] }]),
    /^messages/,
  ],
  ['an image by the system', '/messages', aMessage([user, { role: 'system', content: [image] }]), /^messages/],
  ['more items than a request may have', '/responses', aResponse(Array(5_000).fill(user)), /^input/],
  ['more messages than a request may have', '/messages', aMessage(Array(5_000).fill(user)), /^messages/],
];

/** Bodies that are served, with the words that must reach the engine as they are. */
export const SERVED_ITEMS: [about: string, path: HostileItem['path'], body: object][] = [
  ...NAMES.flatMap((name): [string, HostileItem['path'], object][] => [
    [
      `${name} as an id, a name and a text`,
      '/responses',
      aResponse(
        [
          { role: 'user', content: name },
          { type: 'function_call', id: name, call_id: name, name: 'constructor', arguments: '{"__proto__":1}' },
          { type: 'function_call_output', call_id: name, output: name },
        ],
        { metadata: { [name]: name } },
      ),
    ],
    [
      `${name} as an id, a name and a text`,
      '/messages',
      aMessage([
        { role: 'user', content: name },
        { role: 'assistant', content: [{ type: 'tool_use', id: name, name: 'constructor', input: { [name]: name } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: name, content: name }] },
      ]),
    ],
  ]),
  [
    'an output without its call',
    '/responses',
    aResponse([user, { type: 'function_call_output', call_id: 'x', output: 'y' }]),
  ],
  [
    'a result without its call',
    '/messages',
    aMessage([{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x' }] }]),
  ],
  ['a call without its output', '/responses', aResponse([user, { type: 'function_call', call_id: 'x', name: 'y' }])],
  ['the system in the middle', '/responses', aResponse([user, { role: 'system', content: 'x' }, user])],
  ['the system in the middle', '/messages', aMessage([user, { role: 'system', content: 'x' }, user])],
];

/** Bodies that are too deep to be read. */
export const DEEP_ITEMS: [about: string, path: HostileItem['path'], text: string][] = [
  ['an item', '/responses', `{"model":"${TEXT_MODEL}","input":${deep(2_000)}}`],
  [
    'a schema',
    '/responses',
    `{"model":"${TEXT_MODEL}","input":"hi","tools":[{"type":"function","name":"a","parameters":{"a":${deep(2_000)}}}]}`,
  ],
  ['a block', '/messages', `{"model":"${TEXT_MODEL}","max_tokens":2,"messages":${deep(2_000)}}`],
  [
    'the input of a call',
    '/messages',
    `{"model":"${TEXT_MODEL}","max_tokens":2,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"a":${deep(2_000)}}}]}]}`,
  ],
];
