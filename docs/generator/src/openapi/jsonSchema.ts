/** A JSON Schema (2020-12), as plain data. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  description?: string;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  not?: JsonSchema;
  [keyword: string]: unknown;
}

/** Our own keywords: how far a field is supported, and what the compatibility matrix says of it. */
const EXTENSIONS: Record<string, string> = { support: 'x-support', note: 'x-support-note' };
/** Keywords of a whole schema that the surrounding document already has. */
const SAID_ELSEWHERE = new Set(['$id', '$schema', 'id']);

/**
 * Simplifies a schema of zod for readers. Removes the bounds of a double from integers, a pattern that repeats a format,
 * and alternatives that match nothing.
 */
export function tidySchema(schema: JsonSchema): JsonSchema {
  const entries = Object.entries(schema)
    .filter(([keyword, value]) => !SAID_ELSEWHERE.has(keyword) && !isNoise(schema, keyword, value))
    .map(([keyword, value]) => [EXTENSIONS[keyword] ?? keyword, tidyValue(keyword, value)] as const);
  return foldAlternatives(Object.fromEntries(entries));
}

function isNoise(schema: JsonSchema, keyword: string, value: unknown): boolean {
  if (keyword === 'maximum' || keyword === 'minimum') return Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER;
  return keyword === 'pattern' && schema.format !== undefined;
}

function tidyValue(keyword: string, value: unknown): unknown {
  if (keyword === 'properties')
    return Object.fromEntries(Object.entries(value as object).map(([name, schema]) => [name, tidySchema(schema)]));
  if (keyword === 'anyOf' || keyword === 'oneOf') return (value as JsonSchema[]).map(tidySchema);
  return keyword === 'items' ? tidySchema(value as JsonSchema) : value;
}

/** Drops what can never be, takes nested alternatives up, and puts a lone one in its parent's place. */
function foldAlternatives(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema;
  if (!anyOf) return schema;
  const possible = anyOf.flatMap((choice) => {
    if (choice.not !== undefined && Object.keys(choice.not).length === 0) return [];
    return choice.anyOf && Object.keys(choice).length === 1 ? choice.anyOf : [choice];
  });
  const [only] = possible;
  return possible.length === 1 ? { ...only, ...rest } : { ...rest, anyOf: possible };
}
