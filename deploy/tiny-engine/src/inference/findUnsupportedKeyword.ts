const SIMPLE_TYPES = ['string', 'number', 'integer', 'boolean', 'null'];
const TYPES = [...SIMPLE_TYPES, 'object', 'array'];
/** Say what a value is; a schema without one of them would allow anything, which the grammar does not. */
const KIND_KEYWORDS = ['type', 'enum', 'const', 'oneOf', '$ref'];
const ANNOTATIONS = ['title', 'description', 'default', 'examples', '$schema', '$id'];
const SUPPORTED = new Set([
  ...KIND_KEYWORDS,
  ...ANNOTATIONS,
  ...['$defs', 'properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
  ...['items', 'prefixItems', 'minItems', 'maxItems', 'minLength', 'maxLength'],
]);

/** The first keyword of a JSON schema that the grammar would pass over, so that an answer might not fit the schema. */
export function findUnsupportedKeyword(schema: unknown): string | undefined {
  if (typeof schema === 'boolean') return undefined; // `additionalProperties: false`
  if (!isObject(schema)) return 'schema';
  const keyword = Object.keys(schema).find((key) => !SUPPORTED.has(key));
  if (keyword !== undefined) return keyword;
  if (!KIND_KEYWORDS.some((kind) => kind in schema) || !isSupportedType(schema.type)) return 'type';
  return subschemasOf(schema)
    .map(findUnsupportedKeyword)
    .find((found) => found !== undefined);
}

/** A list of types is enforced for simple ones only. */
function isSupportedType(type: unknown): boolean {
  if (type === undefined) return true;
  return Array.isArray(type) ? type.every((one) => SIMPLE_TYPES.includes(one)) : TYPES.includes(String(type));
}

function subschemasOf({ properties, $defs, items, additionalProperties, oneOf, prefixItems }: JsonObject): unknown[] {
  const named = [properties, $defs].flatMap((schemas) => (isObject(schemas) ? Object.values(schemas) : []));
  const listed = [oneOf, prefixItems].flatMap((schemas) => (Array.isArray(schemas) ? schemas : []));
  return [...named, ...listed, ...[items, additionalProperties].filter((schema) => schema !== undefined)];
}

type JsonObject = Record<string, unknown>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
