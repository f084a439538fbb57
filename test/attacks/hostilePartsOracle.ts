import { clientKeys, type Form, type Place, places } from './engine-models/clientKeys.ts';
import { engines, findModelKeysAt, findRawKeysAt, type RequestOperation } from './engine-models/engineModels.ts';
import { findJudgement, TOKENIZE_KEYS } from './engine-models/judgedKeys.ts';
import { type Json, readJson } from './readJson.ts';

/** A fault of a body that an engine received. */
export interface Intrusion {
  /** The place: `messages[0].content[1].video_url`. */
  at: string;
  what: string;
  /** Whether an engine could read it as something that the gateway did not see; otherwise it only should not be there. */
  isReadable: boolean;
}

const INLINE_IMAGE = /^data:image\/[a-z.+-]+;base64,[A-Za-z0-9+/]*={0,2}$/;

/** The keys at a place that some engine knows: of its models, of other kinds of part, of its code. */
const knownAt = new Map(
  places.map((place) => [
    place,
    new Set(
      engines.flatMap((engine) => [
        ...findModelKeysAt(engine, clientKeys[place].path),
        ...findRawKeysAt(engine, clientKeys[place].path),
      ]),
    ),
  ]),
);

/** The forms of a body's members that the router checks or writes itself. */
const BODY: Record<RequestOperation | 'tokenize', Record<string, Form>> = {
  chat: {
    messages: { is: 'list', place: 'message' },
    tools: { is: 'list', place: 'tool' },
    tool_choice: { is: 'object', place: 'tool_choice' },
    chat_template_kwargs: { is: 'object', place: 'chat_template_kwargs' },
  },
  completions: { prompt: { is: 'text' }, suffix: { is: 'text' } },
  embeddings: {},
  tokenize: {
    prompt: { is: 'text' },
    messages: { is: 'list', place: 'message' },
    tools: { is: 'list', place: 'tool' },
    chat_template_kwargs: { is: 'object', place: 'chat_template_kwargs' },
  },
};

const TOOL_WORDS: Form = { is: 'text', words: ['none', 'auto', 'required'] };

/**
 * Finds the parts of an engine's request that the gateway does not mean so, by the engines' request models. Empty if there are
 * none.
 */
export function findIntrusions(text: string, operation: RequestOperation | 'tokenize'): Intrusion[] {
  const body = readJson(text);
  const found: Intrusion[] = [];
  const note: Note = (at, what, isReadable = true) => {
    found.push({ at, what, isReadable });
    return undefined;
  };
  if (body.kind !== 'object') return [{ at: '', what: 'no object', isReadable: true }];
  refuseDoubled(body, '', note);
  for (const { key, value } of body.members) {
    const problem = judgeTopLevel(operation, key, value);
    if (problem) note(key, problem);
    const form = key === 'response_format' ? toFormatForm(value) : BODY[operation][key];
    if (form) checkForm(key === 'tool_choice' && isText(value) ? TOOL_WORDS : form, value, key, note);
  }
  return found;
}

type Note = (at: string, what: string, isReadable?: boolean) => undefined;
type JsonObject = Extract<Json, { kind: 'object' }>;

const scalarOf = (json: Json | undefined): unknown => (json?.kind === 'scalar' ? json.value : undefined);
const isText = (json: Json): boolean => typeof scalarOf(json) === 'string';
const memberOf = (object: JsonObject, key: string): Json | undefined =>
  object.members.findLast((member) => member.key === key)?.value;

/** Keys that the router writes itself. No other key that is judged to be its own reaches an engine. */
const OURS: Record<string, (value: Json) => boolean> = {
  model: isText,
  max_tokens: (value) => typeof scalarOf(value) === 'number',
  stream: (value) => scalarOf(value) === true,
  stream_options: (value) =>
    value.kind === 'object' &&
    value.members.every(({ key }) => ['include_usage', 'continuous_usage_stats'].includes(key)),
  // A hash, as no client can write one.
  cache_salt: (value) => /^[\w-]{43}$/.test(String(scalarOf(value))),
};

function judgeTopLevel(operation: RequestOperation | 'tokenize', key: string, value: Json): string | undefined {
  if (operation === 'tokenize') return TOKENIZE_KEYS.includes(key) ? undefined : 'is not asked of a tokenizer';
  const isOurs = OURS[key];
  if (isOurs) return isOurs(value) ? undefined : 'is not the router’s';
  const verdict = findJudgement(operation, key)?.verdict;
  if (verdict === 'refused') return 'is refused';
  if (verdict === 'ours' || (operation === 'embeddings' && key === 'messages')) return 'stays with the router';
  if (key === 'include_reasoning' || key === 'stream_reasoning')
    return scalarOf(value) === true ? undefined : 'silences the stream';
  if (operation === 'embeddings' && key === 'input') return isTexts(value) ? undefined : 'is not of texts alone';
  return undefined;
}

const isTexts = (json: Json): boolean => (json.kind === 'list' ? json.items.every(isText) : isText(json));

function toFormatForm(value: Json): Form {
  const type = value.kind === 'object' ? scalarOf(memberOf(value, 'type')) : undefined;
  return { is: 'object', place: findPlace(`response_format.${String(type)}`) ?? 'response_format.text' };
}

const findPlace = (name: string): Place | undefined => places.find((place) => place === name);

/** Notes keys that stand twice: which of them counts depends on the reader. */
function refuseDoubled({ members }: JsonObject, at: string, note: Note): undefined {
  const seen = new Set<string>();
  for (const { key } of members) {
    if (seen.has(key)) note(join(at, key), 'stands twice');
    seen.add(key);
  }
}

const join = (at: string, key: string): string => (at === '' ? key : `${at}.${key}`);

function checkForm(form: Form, value: Json, at: string, note: Note): undefined {
  if (form.is === 'text') {
    const text = scalarOf(value);
    if (typeof text !== 'string') note(at, 'is no text');
    else if (form.words && !form.words.includes(text)) note(at, `is ${JSON.stringify(text)}`);
  } else if (form.is === 'flag') {
    if (typeof scalarOf(value) !== 'boolean') note(at, 'is neither true nor false');
  } else if (form.is === 'image') {
    const url = scalarOf(value);
    if (typeof url !== 'string' || !INLINE_IMAGE.test(url)) note(at, 'is no inline image');
  } else if (form.is === 'schema') {
    if (value.kind !== 'object') note(at, 'is no schema');
    refuseDoubledWithin(value, at, note);
  } else if (form.is === 'content') {
    checkContent(value, at, note);
  } else if (form.is === 'list') {
    if (value.kind !== 'list') note(at, 'is no list');
    else for (const [index, item] of value.items.entries()) checkItem(form.place, item, `${at}[${index}]`, note);
  } else checkObject(form.place, value, at, note);
}

function checkContent(value: Json, at: string, note: Note): undefined {
  if (isText(value) || scalarOf(value) === null) return;
  if (value.kind !== 'list') return note(at, 'is neither text nor parts');
  for (const [index, part] of value.items.entries()) {
    const place = `${at}[${index}]`;
    const type = part.kind === 'object' ? scalarOf(memberOf(part, 'type')) : undefined;
    const known = findPlace(`part.${String(type)}`);
    if (known) checkObject(known, part, place, note);
    else note(place, `is a part of type ${JSON.stringify(type)}`);
  }
}

function checkItem(place: Place | 'message', value: Json, at: string, note: Note): undefined {
  if (place !== 'message') return checkObject(place, value, at, note);
  const role = value.kind === 'object' ? scalarOf(memberOf(value, 'role')) : undefined;
  const known = findPlace(`message.${String(role)}`);
  if (known) checkObject(known, value, at, note);
  else note(at, `is a message of role ${JSON.stringify(role)}`);
}

function checkObject(place: Place, value: Json, at: string, note: Note): undefined {
  // All engines read an image's bare address as they read one in an object.
  if (place === 'image_url' && isText(value)) return checkForm({ is: 'image' }, value, at, note);
  if (value.kind !== 'object') return note(at, 'is no object');
  refuseDoubled(value, at, note);
  const { keep, needs } = clientKeys[place];
  for (const key of needs) if (memberOf(value, key) === undefined) note(join(at, key), 'is missing');
  for (const { key, value: member } of value.members) {
    const form = Object.hasOwn(keep, key) ? keep[key] : undefined;
    if (!form) note(join(at, key), 'is not on the list', isReadableAt(place, key));
    else if (scalarOf(member) !== null || needs.includes(key)) checkForm(form, member, join(at, key), note);
  }
}

/** Whether some engine knows the key there, and no client's use of it is known to be harmless. */
const isReadableAt = (place: Place, key: string): boolean =>
  !clientKeys[place].drop.includes(key) && (knownAt.get(place)?.has(key) ?? false);

function refuseDoubledWithin(value: Json, at: string, note: Note): undefined {
  if (value.kind === 'list')
    for (const [index, item] of value.items.entries()) refuseDoubledWithin(item, `${at}[${index}]`, note);
  if (value.kind !== 'object') return;
  refuseDoubled(value, at, note);
  for (const { key, value: member } of value.members) refuseDoubledWithin(member, join(at, key), note);
}
