import { z } from 'zod';
import { deriveKey, draw, type RandomKey } from './counterRandom.ts';
import { randomLines } from './randomText.ts';

/** The part of JSON Schema that is honoured; other keywords are ignored. `#/…` references are followed. */
const schemaSchema = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  enum: z.array(z.unknown()).min(1).optional(),
  const: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  items: z.unknown().optional(),
  minItems: z.int().min(0).optional(),
  maxItems: z.int().min(0).optional(),
  minLength: z.int().min(0).optional(),
  maxLength: z.int().min(0).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  anyOf: z.array(z.unknown()).min(1).optional(),
  oneOf: z.array(z.unknown()).min(1).optional(),
  allOf: z.array(z.unknown()).min(1).optional(),
  $ref: z.string().optional(),
});
type Schema = z.output<typeof schemaSchema>;

/** Depth from which only required members are made, so that a recursive schema ends. */
const OPTIONAL_DEPTH = 6;
/** A schema that requires itself has no finite value: here it gets null. */
const MAX_DEPTH = 24;
const MAX_ITEMS = 64;
const MAX_WORDS = 4_096;

/** A value that satisfies `schema`, the same for the same key. */
export function jsonValueOf(schema: unknown, key: RandomKey): unknown {
  return makeValue(schema, key, { root: schema, depth: 0 });
}

interface Position {
  root: unknown;
  depth: number;
}

function makeValue(schemaValue: unknown, key: RandomKey, position: Position): unknown {
  const parsed = schemaSchema.safeParse(schemaValue === true ? {} : schemaValue);
  if (!parsed.success || position.depth > MAX_DEPTH) return null;
  const schema = parsed.data;
  const below = { ...position, depth: position.depth + 1 };
  if (schema.$ref !== undefined) return makeValue(resolve(schema.$ref, position.root), key, below);
  if (schema.allOf) return makeValue(mergeAll(schema, position.root), key, below);
  if ('const' in schema) return schema.const;
  if (schema.enum) return schema.enum[draw(key, 0) % schema.enum.length];
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return makeValue(choices[0], key, below);
  switch (typeOf(schema)) {
    case 'object':
      return objectOf(schema, key, below);
    case 'array':
      return itemsOf(schema, key, below);
    case 'string':
      return stringOf(schema, key);
    case 'integer':
      return wholeNumberOf(schema, key);
    case 'number':
      return numberOf(schema, key);
    case 'boolean':
      return draw(key, 0) % 2 === 0;
    default:
      return null;
  }
}

function typeOf({ type, properties, items }: Schema): string {
  const named = Array.isArray(type) ? type[0] : type;
  return named ?? (properties ? 'object' : items ? 'array' : 'string');
}

/** `allOf` as one schema: keywords side by side, properties and required names together. */
function mergeAll({ allOf = [], ...own }: Schema, root: unknown): Schema {
  const parts = [own, ...allOf].map((part) => {
    const parsed = schemaSchema.safeParse(part);
    const reference = parsed.data?.$ref;
    const { $ref: _followed, ...keywords } = parsed.data ?? {};
    return reference === undefined
      ? keywords
      : { ...schemaSchema.safeParse(resolve(reference, root)).data, ...keywords };
  });
  return {
    ...Object.assign({}, ...parts),
    ...(parts.some(({ properties }) => properties) && {
      properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    }),
    required: parts.flatMap(({ required = [] }) => required),
  };
}

function objectOf({ properties = {}, required = [] }: Schema, key: RandomKey, below: Position): object {
  const undescribed = required.filter((name) => !(name in properties)).map((name): [string, unknown] => [name, {}]);
  const shown = [...Object.entries(properties), ...undescribed].filter(
    ([name]) => below.depth < OPTIONAL_DEPTH || required.includes(name),
  );
  return Object.fromEntries(
    shown.map(([name, property], index) => [name, makeValue(property, deriveKey(key, [index]), below)]),
  );
}

function itemsOf({ items, minItems = 0, maxItems = 2 }: Schema, key: RandomKey, below: Position): unknown[] {
  const wanted = below.depth < OPTIONAL_DEPTH ? Math.min(2, maxItems) : 0;
  const count = Math.min(Math.max(minItems, wanted), MAX_ITEMS);
  return Array.from({ length: count }, (_, index) => makeValue(items ?? {}, deriveKey(key, [index]), below));
}

function stringOf({ minLength = 0, maxLength = Number.POSITIVE_INFINITY }: Schema, key: RandomKey): string {
  const characters = [...randomLines(key, Math.min(Math.max(2, minLength), MAX_WORDS))];
  return characters.slice(0, Math.max(minLength, Math.min(characters.length, maxLength))).join('');
}

/** One of the first hundred that fit. */
function wholeNumberOf({ minimum, maximum }: Schema, key: RandomKey): number {
  const most = Math.floor(maximum ?? Number.POSITIVE_INFINITY);
  const least = minimum === undefined ? Math.min(0, most) : Math.ceil(minimum);
  return least + (draw(key, 0) % Math.max(1, Math.min(100, most - least + 1)));
}

function numberOf({ minimum, maximum }: Schema, key: RandomKey): number {
  const least = minimum ?? Math.min(0, maximum ?? 0);
  const most = maximum ?? least + 100;
  return Math.min(most, least + (draw(key, 0) / 2 ** 32) * (most - least));
}

function resolve(reference: string, root: unknown): unknown {
  if (!reference.startsWith('#')) return null;
  const path = reference.split('/').slice(1);
  return path.reduce<unknown>((at, name) => {
    const children = z.record(z.string(), z.unknown()).safeParse(at);
    return children.success ? children.data[name.replaceAll('~1', '/').replaceAll('~0', '~')] : null;
  }, root);
}
