import type { JsonSchema } from '../openapi/jsonSchema.ts';

export type Support = 'yes' | 'partial' | 'no';

/** A line of the compatibility matrix. */
export interface FieldSupport {
  /**
   * The path of a field in a client's words: `messages[].content`; a variant with its distinction: `response_format (type:
   * text)`.
   */
  field: string;
  support: Support;
  note: string;
  /** The texts that the field may have in any of its forms; undefined if it may have others. */
  values?: string[] | undefined;
}

/** Fields that tell the forms of an object apart. */
export const DISCRIMINATORS = ['role', 'type'];

/** Every field of a body, nested ones after their parents, each once. */
export function listFields(schema: JsonSchema, schemas: Record<string, JsonSchema>): FieldSupport[] {
  const found = new Map<string, FieldSupport>();
  const add = (field: string, from: JsonSchema): void => {
    const values = valuesOf(from, schemas);
    const earlier = found.get(field);
    if (!earlier) found.set(field, { field, support: supportOf(from), note: noteOf(from), values });
    else earlier.values = values && earlier.values && [...earlier.values, ...values];
  };
  const visit = (node: JsonSchema, path: string): void => {
    const resolved = resolve(node, schemas);
    for (const [name, property] of Object.entries(resolved.properties ?? {})) {
      const field = path === '' ? name : `${path}.${name}`;
      add(field, { ...resolve(property, schemas), ...property });
      visit(property, field);
    }
    if (resolved.items) visit(resolved.items, `${path}[]`);
    const forms = [...(resolved.anyOf ?? []), ...(resolved.oneOf ?? [])].map((form) => resolve(form, schemas));
    for (const form of forms) {
      const kind = kindOf(form);
      if (kind !== undefined && forms.length > 1) add(`${path} (${kind})`.trim(), form);
      visit(form, path);
    }
  };
  visit(schema, '');
  return [...found.values()];
}

/** The texts that a schema allows; undefined if it allows something else than these and null. */
function valuesOf(schema: JsonSchema, schemas: Record<string, JsonSchema>): string[] | undefined {
  const { anyOf, oneOf, enum: values, const: value, type } = resolve(schema, schemas);
  const forms = anyOf ?? oneOf;
  if (forms) {
    const each = forms.map((form) => valuesOf(form, schemas));
    return each.includes(undefined) ? undefined : each.flatMap((texts) => texts ?? []);
  }
  if (type === 'null') return [];
  const texts: unknown[] = Array.isArray(values) ? values : value === undefined ? [] : [value];
  return texts.length > 0 && texts.every((text) => typeof text === 'string' || text === null)
    ? texts.filter((text) => typeof text === 'string')
    : undefined;
}

function resolve(schema: JsonSchema, schemas: Record<string, JsonSchema>): JsonSchema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (schemas[name] ?? {});
}

/** Returns the field that distinguishes one variant of an object from the others, as `type: text`. */
function kindOf({ properties = {} }: JsonSchema): string | undefined {
  const name = DISCRIMINATORS.find((candidate) => typeof properties[candidate]?.const === 'string');
  return name === undefined ? undefined : `${name}: ${String(properties[name]?.const)}`;
}

function supportOf({ 'x-support': support = 'yes' }: JsonSchema): Support {
  if (support !== 'yes' && support !== 'partial' && support !== 'no')
    throw new Error(`a field's support is said to be ${String(support)}`);
  return support;
}

const noteOf = ({ 'x-support-note': note, description = '' }: JsonSchema): string =>
  typeof note === 'string' ? note : description;
