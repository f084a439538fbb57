import { type JsonTree, textNode, toTree, writeTree } from '../fuzz/cases/jsonTree.ts';
import { clientKeys, type Place } from './engine-models/clientKeys.ts';
import {
  engines,
  findPartKinds,
  findTopLevelKeys,
  keysOfModel,
  OPERATIONS,
  type RequestOperation,
} from './engine-models/engineModels.ts';
import { findJudgement, judgedKeysOf } from './engine-models/judgedKeys.ts';

/** A body that some engine could read as something else than the gateway does. */
export interface HostileBody {
  family: Family;
  operation: RequestOperation;
  /** The change to a good body, and its place. */
  about: string;
  write(): string;
}

export const FAMILIES = [
  'foreign key',
  'key twice',
  'wrong value',
  'other kind of part',
  'other role',
  'other shape',
  'body key',
] as const;
export type Family = (typeof FAMILIES)[number];

const ADDRESS = 'http://169.254.169.254/latest/meta-data/';
export const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC';

/** Values that some reader of a key would follow, open, unpack or look up. */
export const VALUES: unknown[] = [
  ADDRESS,
  'file:///etc/passwd',
  'data:video/mp4;base64,AAAA',
  { url: ADDRESS },
  { url: ADDRESS, content_hash: `sha256:${'0'.repeat(64)}` },
  { data: 'AAAA', format: 'wav' },
  { file_data: PNG, file_id: 'file-1' },
  [{ type: 'video_url', video_url: { url: ADDRESS } }],
  [{ type: 'function', function: { name: 'forecast' } }],
  null,
  5,
  true,
  'text',
];

export const TEXT_MODEL = 'llama-3.3-70b-instruct';
export const VISION_MODEL = 'qwen2.5-vl-7b-instruct';
export const EMBEDDING_MODEL = 'bge-m3';

const text = { type: 'text', text: 'hi' };
const image = { type: 'image_url', image_url: { url: PNG, detail: 'low' } };
const call = { id: 'call_1', type: 'function', function: { name: 'forecast', arguments: '{}' } };
const tool = {
  type: 'function',
  function: { name: 'forecast', description: 'Of the weather.', parameters: { type: 'object' }, strict: false },
};
const called = [
  { role: 'assistant', content: null, tool_calls: [call], reasoning: 'It asks for the weather.' },
  { role: 'tool', content: [text], tool_call_id: 'call_1' },
];

const user = { role: 'user', content: 'hi' };
const aChat = (messages: object[], fields: object = {}) => ({ model: TEXT_MODEL, messages, max_tokens: 2, ...fields });
const withImage = { ...aChat([{ role: 'user', content: [text, image] }]), model: VISION_MODEL };

export type Path = readonly (string | number)[];

/** A good body, and an object within it. */
interface Target {
  place: Place;
  body: object;
  path: Path;
}

const FIRST_PART: Path = ['messages', 0, 'content', 0];
const json = (fields: object) => ({ response_format: { type: 'json_schema', json_schema: { name: 'a', ...fields } } });

/** Every place that a client's object can have, in a body that is served. */
const TARGETS: Target[] = [
  ...(['system', 'developer', 'user', 'assistant'] as const).flatMap((role): Target[] => {
    const after = role === 'user' ? [] : [user];
    return [
      { place: `message.${role}`, body: aChat([{ role, content: 'hi', name: 'a' }, ...after]), path: ['messages', 0] },
      { place: 'part.text', body: aChat([{ role, content: [text] }, ...after]), path: FIRST_PART },
    ];
  }),
  { place: 'message.assistant', body: aChat([user, ...called]), path: ['messages', 1] },
  { place: 'message.tool', body: aChat([user, ...called]), path: ['messages', 2] },
  { place: 'part.text', body: aChat([user, ...called]), path: ['messages', 2, 'content', 0] },
  {
    place: 'message.function',
    body: aChat([user, { role: 'function', name: 'a', content: 'b' }]),
    path: ['messages', 1],
  },
  {
    place: 'part.refusal',
    body: aChat([{ role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }, user]),
    path: FIRST_PART,
  },
  { place: 'part.text', body: withImage, path: FIRST_PART },
  { place: 'part.image_url', body: withImage, path: ['messages', 0, 'content', 1] },
  { place: 'image_url', body: withImage, path: ['messages', 0, 'content', 1, 'image_url'] },
  { place: 'tool_call', body: aChat([user, ...called]), path: ['messages', 1, 'tool_calls', 0] },
  { place: 'tool_call.function', body: aChat([user, ...called]), path: ['messages', 1, 'tool_calls', 0, 'function'] },
  { place: 'tool', body: aChat([user], { tools: [tool] }), path: ['tools', 0] },
  { place: 'tool.function', body: aChat([user], { tools: [tool] }), path: ['tools', 0, 'function'] },
  ...(['tool_choice', 'tool_choice.function'] as const).map((place): Target => {
    const choice = { type: 'function', function: { name: 'forecast' } };
    return { place, body: aChat([user], { tools: [tool], tool_choice: choice }), path: place.split('.') };
  }),
  ...(['text', 'json_object'] as const).map(
    (type): Target => ({
      place: `response_format.${type}`,
      body: aChat([user], { response_format: { type } }),
      path: ['response_format'],
    }),
  ),
  {
    place: 'response_format.json_schema',
    body: aChat([user], json({ schema: { type: 'object' } })),
    path: ['response_format'],
  },
  {
    place: 'json_schema',
    body: aChat([user], json({ schema: { type: 'object' }, strict: true, description: 'b' })),
    path: ['response_format', 'json_schema'],
  },
  {
    place: 'stream_options',
    body: aChat([user], { stream: true, stream_options: { include_usage: true } }),
    path: ['stream_options'],
  },
  {
    place: 'chat_template_kwargs',
    body: aChat([user], { chat_template_kwargs: { enable_thinking: false } }),
    path: ['chat_template_kwargs'],
  },
];

/** Every key that some engine reads below a request's body. */
export const VOCABULARY = [
  ...new Set(
    engines.flatMap((engine) => {
      const roots = new Set(Object.values(engine.operations).flat());
      const { request, ...raw } = engine.rawKeys;
      return [
        ...Object.keys(engine.models).flatMap((name) => (roots.has(name) ? [] : keysOfModel(engine, name))),
        ...Object.values(raw).flatMap(Object.keys),
      ];
    }),
  ),
  'prompt_cache_breakpoint',
  '__proto__',
  'x_unknown',
].sort();

/** Changes that turn a good part into one of another class, beside the foreign key. */
const SPOILERS: { name: string; spoil: (part: Record<string, unknown>) => object }[] = [
  { name: '', spoil: (part) => part },
  { name: 'uuid', spoil: (part) => ({ ...part, uuid: 'u' }) },
  { name: 'mark', spoil: (part) => ({ ...part, prompt_cache_breakpoint: 5 }) },
  { name: 'no type', spoil: ({ type, ...part }) => part },
  { name: 'null type', spoil: (part) => ({ ...part, type: null }) },
  {
    name: 'detail',
    spoil: (part) => ('image_url' in part ? { ...part, image_url: { url: PNG, detail: 'bogus' } } : part),
  },
];

/** All hostile bodies, in one order. */
export function* listHostileBodies(): Generator<HostileBody> {
  for (const target of TARGETS) {
    yield* foreignKeys(target);
    yield* keysTwice(target);
    yield* keysTwiceInSchemas(target);
    yield* wrongValues(target);
    if (target.place.startsWith('part.')) yield* otherKinds(target);
  }
  yield* otherRoles();
  yield* otherShapes();
  yield* bodyKeys();
}

function* foreignKeys(target: Target): Generator<HostileBody> {
  const { keep } = clientKeys[target.place];
  const spoilers = target.place.startsWith('part.') ? SPOILERS : SPOILERS.slice(0, 1);
  for (const key of VOCABULARY.filter((name) => !Object.hasOwn(keep, name))) {
    for (const value of VALUES) {
      for (const { name, spoil } of spoilers) {
        const change = (tree: JsonTree) => {
          const spoiled = toTree(spoil(JSON.parse(writeTree(tree))));
          return withMember(spoiled, { key: JSON.stringify(key), value: toTree(value) });
        };
        yield changed(target, 'foreign key', `${key} ${name}`, change);
      }
    }
  }
}

/** The same key in other letters of JSON. */
const escaped = (key: string): string => `"\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}${key.slice(1)}"`;

function* keysTwice(target: Target): Generator<HostileBody> {
  for (const key of Object.keys(clientKeys[target.place].keep)) {
    for (const value of VALUES) {
      for (const spelling of [JSON.stringify(key), escaped(key)]) {
        for (const atEnd of [true, false]) {
          const member = { key: spelling, value: toTree(value) };
          yield changed(target, 'key twice', `${key} ${atEnd ? 'last' : 'first'}`, (tree) =>
            withMember(tree, member, atEnd),
          );
        }
      }
    }
  }
}

/** A key twice deep within a schema, which is passed on for what it is. */
function* keysTwiceInSchemas(target: Target): Generator<HostileBody> {
  for (const [key, form] of Object.entries(clientKeys[target.place].keep)) {
    if (form.is !== 'schema') continue;
    for (const inner of [
      '"type":"object","type":"string"',
      '"properties":{"a":{"$ref":"#","\\u0024ref":"x"}}',
      '"a":[{"b":1,"b":2}]',
    ])
      yield changed(target, 'key twice', `${key} within`, (tree) =>
        withMember(withoutMember(tree, key), { key: JSON.stringify(key), value: textNode(`{${inner}}`) }),
      );
  }
}

function* wrongValues(target: Target): Generator<HostileBody> {
  for (const key of Object.keys(clientKeys[target.place].keep)) {
    for (const value of [...VALUES, '', 'bogus', 'original', {}, [], [5], ['a'], -1, 1.5, { $ref: ADDRESS }]) {
      const change = (tree: JsonTree): JsonTree =>
        withMember(withoutMember(tree, key), { key: JSON.stringify(key), value: toTree(value) });
      yield changed(target, 'wrong value', key, change);
    }
    yield changed(target, 'wrong value', `no ${key}`, (tree) => withoutMember(tree, key));
  }
}

/** Every kind of part that engines know, whole and in part, and every word that their code takes for a type. */
function* otherKinds(target: Target): Generator<HostileBody> {
  const kinds = engines.flatMap(findPartKinds);
  const words = [
    ...new Set([...kinds.flatMap(({ types }) => types), ...engines.flatMap((engine) => engine.rawPartTypes)]),
  ];
  for (const value of VALUES) {
    for (const { types, keys } of kinds) {
      for (const type of [...types, undefined]) {
        const part = { ...(type !== undefined && { type }), ...Object.fromEntries(keys.map((key) => [key, value])) };
        if (JSON.stringify(part) === JSON.stringify(text)) continue;
        yield changed(target, 'other kind of part', `${type} of ${keys}`, () => toTree(part));
      }
    }
    for (const type of words.flatMap((word) => [word, word.toUpperCase(), ` ${word}`, [word]])) {
      const part = { ...text, type, [String(type)]: value };
      yield changed(target, 'other kind of part', `${type} over text`, () => toTree(part));
    }
  }
}

function* otherRoles(): Generator<HostileBody> {
  const roles = engines.flatMap(({ models }) =>
    Object.values(models).flatMap(({ fields }) => fields.role?.literals ?? []),
  );
  const others = [...new Set(roles)].flatMap((role) => [role, role.toUpperCase(), ` ${role}`, [role], { role }]);
  for (const role of [...others, null, 5, '', undefined]) {
    for (const value of VALUES) {
      for (const message of [
        { role, content: value },
        { role, content: [text], tools: value },
        { author: { role }, content: value },
      ])
        yield made('other role', aChat([message, user]), JSON.stringify(message));
    }
  }
}

/** Lists, texts and objects where the others belong. */
function* otherShapes(): Generator<HostileBody> {
  const parts = [text, image, { type: 'video_url', video_url: { url: ADDRESS } }, ADDRESS, PNG, [text], null, 5, {}];
  for (const part of parts) {
    for (const content of [part, [part], [[part]], [text, part], { 0: part, length: 1 }, JSON.stringify(part)]) {
      for (const role of ['system', 'user', 'assistant', 'tool'])
        yield made(
          'other shape',
          aChat([{ role, content, ...(role === 'tool' && { tool_call_id: 'call_1' }) }, user]),
          role,
        );
      for (const key of [
        'messages',
        'tools',
        'tool_choice',
        'response_format',
        'stream_options',
        'chat_template_kwargs',
      ])
        yield made('other shape', { ...aChat([user]), stream: true, [key]: content }, key);
      yield made('other shape', { model: TEXT_MODEL, prompt: content, max_tokens: 2 }, 'prompt', 'completions');
      yield made(
        'other shape',
        { model: TEXT_MODEL, prompt: 'a', suffix: content, max_tokens: 2 },
        'suffix',
        'completions',
      );
      yield made('other shape', { model: EMBEDDING_MODEL, input: content }, 'input', 'embeddings');
    }
  }
  const inputs = [
    [1, 2],
    [[1]],
    [user],
    [[user]],
    [{ text: 'a', image: ADDRESS }],
    [{ video: ADDRESS }],
    ['a', user],
    ['a', 5],
  ];
  for (const input of inputs) {
    yield made('other shape', { model: EMBEDDING_MODEL, input }, 'input', 'embeddings');
    yield made('other shape', { model: EMBEDDING_MODEL, input: 'a', messages: input }, 'messages', 'embeddings');
    yield made('other shape', { model: TEXT_MODEL, prompt: input, max_tokens: 2 }, 'prompt', 'completions');
  }
}

/** Returns the good bodies that hostile ones are made of. */
export const goodBodies = (): HostileBody[] => [
  ...TARGETS.map(({ place, body }) => made('foreign key', body, place)),
  ...OPERATIONS.map((operation) => made('body key', GOOD[operation], operation, operation)),
];

const GOOD: Record<RequestOperation, object> = {
  chat: aChat([user]),
  completions: { model: TEXT_MODEL, prompt: 'hi', max_tokens: 2 },
  embeddings: { model: EMBEDDING_MODEL, input: 'hi' },
};

/** Every key that an engine knows at the top of a body, but for those that are the client's to write. */
function* bodyKeys(): Generator<HostileBody> {
  for (const operation of OPERATIONS) {
    const known = engines.flatMap((engine) => findTopLevelKeys(engine, operation));
    for (const key of new Set([...known, ...judgedKeysOf(operation)])) {
      if (findJudgement(operation, key)?.verdict === 'forwarded') continue;
      for (const value of [...VALUES, 'x', 1, false, [ADDRESS], { a: { b: ADDRESS } }]) {
        yield made('body key', { ...GOOD[operation], [key]: value }, key, operation);
        // Beside the good one, or beside null, which is absence.
        const twice: JsonTree = toTree({ [key]: null, ...GOOD[operation] });
        for (const spelling of [JSON.stringify(key), escaped(key)])
          for (const atEnd of [true, false])
            yield {
              family: 'body key',
              operation,
              about: `${key} twice`,
              write: () => writeTree(withMember(twice, { key: spelling, value: toTree(value) }, atEnd)),
            };
      }
    }
  }
}

const made = (family: Family, body: object, about: string, operation: RequestOperation = 'chat'): HostileBody => ({
  family,
  operation,
  about,
  write: () => JSON.stringify(body),
});

function changed(
  { place, body, path }: Target,
  family: Family,
  about: string,
  change: (tree: JsonTree) => JsonTree,
): HostileBody {
  return {
    family,
    operation: 'chat',
    about: `${place}: ${about}`,
    write: () => writeTree(changeAt(toTree(body), path, change)),
  };
}

export function changeAt(tree: JsonTree, path: Path, change: (tree: JsonTree) => JsonTree): JsonTree {
  const [step, ...rest] = path;
  if (step === undefined) return change(tree);
  if (tree.kind === 'list')
    return {
      kind: 'list',
      items: tree.items.map((item, index) => (index === step ? changeAt(item, rest, change) : item)),
    };
  if (tree.kind === 'text') return tree;
  const members = tree.members.map(({ key, value }) =>
    JSON.parse(key) === step ? { key, value: changeAt(value, rest, change) } : { key, value },
  );
  return { kind: 'object', members };
}

export function withMember(tree: JsonTree, member: { key: string; value: JsonTree }, atEnd = true): JsonTree {
  if (tree.kind !== 'object') return textNode(`{${member.key}:${writeTree(member.value)}}`);
  return { kind: 'object', members: atEnd ? [...tree.members, member] : [member, ...tree.members] };
}

export const withoutMember = (tree: JsonTree, key: string): JsonTree =>
  tree.kind === 'object'
    ? { kind: 'object', members: tree.members.filter((member) => JSON.parse(member.key) !== key) }
    : tree;
