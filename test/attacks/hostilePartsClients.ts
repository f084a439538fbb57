import { aPng } from '@turnpike/test-support/anImage';
import fc from 'fast-check';
import { clientKeys, type Form, type Place, type PlaceKeys } from './engine-models/clientKeys.ts';
import { TEXT_MODEL, VISION_MODEL } from './hostileParts.ts';

const aName = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,20}$/);
const aText = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
const aSchema = fc.record({
  type: fc.constant('object'),
  properties: fc.dictionary(aName, fc.record({ type: fc.constant('string'), description: aText }), {
    noNullPrototype: true,
  }),
  required: fc.array(aName, { maxLength: 3 }),
});
const anImage = aName.map((comment) => `data:image/png;base64,${aPng({ comment }).toString('base64')}`);
/** Any value, for a key that is dropped. */
const anything = fc.jsonValue({ maxDepth: 2 });

/** A value of a form, with images or without. */
function aValue(form: Form, withImages: boolean): fc.Arbitrary<unknown> {
  if (form.is === 'text') return form.words ? fc.constantFrom(...form.words) : aText;
  if (form.is === 'flag') return fc.boolean();
  if (form.is === 'schema') return aSchema;
  if (form.is === 'image') return anImage;
  if (form.is === 'content') return aContent(withImages);
  if (form.is === 'object') return anObject(form.place, withImages);
  return form.place === 'message'
    ? fc.constant([])
    : fc.array(anObject(form.place, withImages), { minLength: 1, maxLength: 3 });
}

function aContent(withImages: boolean): fc.Arbitrary<unknown> {
  const parts: fc.Arbitrary<object>[] = [anObject('part.text', withImages), anObject('part.refusal', withImages)];
  if (withImages)
    parts.push(
      anObject('part.image_url', withImages),
      anImage.map((url) => ({ type: 'image_url', image_url: url })),
    );
  return fc.oneof(aText, fc.array(fc.oneof(...parts), { minLength: 1, maxLength: 4 }));
}

/** An object as clients write it: what it needs, of the rest some or null, and some of what is dropped, in any order. */
function anObject(place: Place, withImages: boolean): fc.Arbitrary<object> {
  const { keep, needs, drop }: PlaceKeys = clientKeys[place];
  const kept = Object.entries(keep).map(([key, form]) => {
    const value = isNameAt(place, key) ? aName : aValue(form, withImages);
    return [key, needs.includes(key) ? value : fc.option(value)] as const;
  });
  const dropped = drop.map((key) => [key, anything] as const);
  return fc
    .record(Object.fromEntries([...kept, ...dropped]), { requiredKeys: [...needs], noNullPrototype: true })
    .chain((fields) => fc.shuffledSubarray(Object.entries(fields), { minLength: Object.keys(fields).length }))
    .map((entries) => Object.fromEntries(entries));
}

const isNameAt = (place: Place, key: string): boolean => key === 'name' && !place.startsWith('message.');

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const;

/** Fields that are passed on as they are, known to engines or to nobody. */
const aForwarded = fc.record(
  {
    top_k: fc.nat(100),
    logit_bias: fc.constant({ '5': 1 }),
    stop: fc.array(aText, { maxLength: 4 }),
    seed: fc.integer(),
    reasoning_effort: fc.constantFrom('low', 'high'),
    parallel_tool_calls: fc.boolean(),
    metadata: anything.filter((value) => value !== null),
    x_unknown: anything.filter((value) => value !== null),
  },
  { requiredKeys: [], noNullPrototype: true },
);

/** A chat as real clients write one: every key that is kept, and those that are dropped. */
export function aClientsChat(): fc.Arbitrary<object> {
  return fc.boolean().chain((withImages) => {
    const aMessage = fc.oneof(...ROLES.map((role) => anObject(`message.${role}`, withImages)));
    const aTool = anObject('tool', withImages) as fc.Arbitrary<{ function: { name: string } }>;
    const aFormat = fc
      .constantFrom('text', 'json_object', 'json_schema')
      .chain((type) => anObject(`response_format.${type}` as Place, withImages));
    // Models that see images have no tools.
    const tools = withImages ? fc.constant([]) : fc.array(aTool, { maxLength: 3 });
    return tools.chain((list) =>
      fc
        .record({
          model: fc.constant(withImages ? VISION_MODEL : TEXT_MODEL),
          messages: fc.array(aMessage, { minLength: 1, maxLength: 4 }),
          max_tokens: fc.constant(2),
          ...(list.length > 0 && {
            tools: fc.constant(list),
            tool_choice: fc.constantFrom('none', 'auto', 'required', {
              type: 'function',
              function: { name: list[0]?.function.name },
            }),
          }),
          response_format: fc.option(aFormat),
          forwarded: aForwarded,
        })
        .map(({ forwarded, ...body }) => ({ ...body, ...forwarded })),
    );
  });
}

/** Returns an engine's reading of a body, whether a client wrote it or the router. */
export function toEngineMeaning(whole: object): object {
  const { model, max_tokens, cache_salt, messages, tools, tool_choice, response_format, ...rest } = whole as Record<
    string,
    unknown
  >;
  return withoutNulls({
    ...rest,
    messages: (messages as Record<string, unknown>[]).map((message) => ({
      ...ofPlace(`message.${String(message.role)}`, message),
      // The convention's newer name for it.
      role: message.role === 'developer' ? 'system' : message.role,
    })),
    tools: (tools as object[] | undefined)?.map((tool) => ofPlace('tool', tool)),
    tool_choice: typeof tool_choice === 'object' && tool_choice ? ofPlace('tool_choice', tool_choice) : tool_choice,
    response_format: response_format && formatOf(response_format as Format),
  });
}

interface Format {
  type: string;
  json_schema?: { schema?: object | null };
}

/** Without a schema, `json_schema` is `json_object`. */
function formatOf(format: Format): object {
  if (format.type === 'json_schema' && !format.json_schema?.schema) return { type: 'json_object' };
  return ofPlace(`response_format.${format.type}`, format);
}

const withoutNulls = (value: object): object =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null && member !== undefined));

/**
 * Returns the kept part of an object, without nulls. An image's bare address becomes an object, and a refusal the text that
 * engines make of it.
 */
function ofPlace(place: string, value: unknown): object {
  if (place === 'image_url' && typeof value === 'string') return { url: value };
  const { keep } = clientKeys[place as Place];
  const kept = Object.entries(value as object).flatMap(([key, member]): [string, unknown][] => {
    const form = Object.hasOwn(keep, key) ? keep[key] : undefined;
    return form && member !== null ? [[key, ofForm(form, member)]] : [];
  });
  const { type, refusal, ...rest } = Object.fromEntries(kept);
  return place === 'part.refusal' ? { type: 'text', text: refusal } : withoutNulls({ type, refusal, ...rest });
}

function ofForm(form: Form, value: unknown): unknown {
  if (form.is === 'object') return ofPlace(form.place, value);
  if (form.is === 'list') return (value as object[]).map((item) => ofPlace(form.place, item));
  if (form.is === 'content' && Array.isArray(value)) return value.map((part) => ofPlace(`part.${part.type}`, part));
  return value;
}
