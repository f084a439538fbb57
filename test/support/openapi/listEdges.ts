/** A JSON Schema as the published document has it. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  'x-support'?: string;
}

interface Options {
  /** Texts of fields that take no other. Their lengths have no edges. */
  samples: Record<string, string>;
  skipped: readonly string[];
}

interface Value {
  value: unknown;
  /** Within the field, as errors name it. */
  place: string;
  isAllowed: boolean;
  /** The bound that the value is beyond, where it is a number that an error can name. */
  bound?: number;
}

/** A value of a field of a request at a bound that the document has for it, or just beyond. */
export interface Edge extends Value {
  field: string;
  /** Whether it depends on the model that the field is served. */
  isPartial: boolean;
}

const INT64 = { minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n };
const JUST = 1e-6;

/** Every bound, choice and null that a request's schema has for its fields, at any depth. */
export function listEdges(name: string, schemas: Record<string, JsonSchema>, { samples, skipped }: Options): Edge[] {
  const resolve = (schema: JsonSchema): JsonSchema =>
    schema.$ref === undefined ? schema : (schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  const formsOf = (schema: JsonSchema): JsonSchema[] => {
    const { anyOf = [], oneOf = [], ...own } = resolve(schema);
    const forms = [...anyOf, ...oneOf];
    return forms.length > 0 ? forms.flatMap(formsOf) : [own];
  };

  /** The least value of a form that is taken. */
  function leastOf(schema: JsonSchema, key = ''): unknown {
    const [form = {}] = formsOf(schema);
    if (form.const !== undefined) return form.const;
    if (form.enum) return form.enum[0];
    if (form.properties)
      return Object.fromEntries(
        (form.required ?? []).map((each) => [each, leastOf(form.properties?.[each] ?? {}, each)]),
      );
    if (form.type === 'array') return Array.from({ length: form.minItems ?? 0 }, () => leastOf(form.items ?? {}));
    if (form.type === 'object') return {};
    return samples[key] ?? 'a';
  }

  function* edgesOf(schema: JsonSchema, place: string, key: string): Generator<Value> {
    const edge = (value: unknown, isAllowed: boolean): Value => ({ value, place, isAllowed });
    const beyond = (value: unknown, bound: number): Value => ({ value, place, isAllowed: false, bound });
    const forms = formsOf(schema);
    for (const form of forms) {
      if ([form.type].flat().includes('null')) yield edge(null, true);
      if (form.type === 'null' && forms.length === 1) yield edge('a', false);
      const choices = form.const === undefined ? form.enum : [form.const];
      if (choices) {
        for (const choice of choices) yield edge(choice, true);
        yield edge('no-such-choice', false);
      } else if (form.format === 'int64') {
        yield edge(`int64:${INT64.minimum}`, true);
        yield edge(`int64:${INT64.maximum}`, true);
        yield edge(`int64:${INT64.minimum - 1n}`, false);
        yield edge(`int64:${INT64.maximum + 1n}`, false);
      } else if (form.type === 'integer' || form.type === 'number') {
        const step = form.type === 'integer' ? 1 : JUST;
        if (form.minimum !== undefined) yield* [edge(form.minimum, true), beyond(form.minimum - step, form.minimum)];
        if (form.maximum !== undefined) yield* [edge(form.maximum, true), beyond(form.maximum + step, form.maximum)];
      } else if (form.type === 'string' && samples[key] === undefined) {
        const { minLength: least = 0, maxLength: most } = form;
        yield edge('a'.repeat(least), true);
        if (least > 0) yield edge('a'.repeat(least - 1), false);
        if (most !== undefined) yield* [edge('a'.repeat(most), true), beyond('a'.repeat(most + 1), most)];
      } else if (form.type === 'array') {
        const { items = {}, minItems: least = 0, maxItems: most } = form;
        const listOf = (length: number) => Array.from({ length }, () => leastOf(items));
        yield edge(listOf(least), true);
        if (least > 0) yield edge(listOf(least - 1), false);
        if (most !== undefined) yield* [edge(listOf(most), true), beyond(listOf(most + 1), most)];
        for (const { value, ...within } of edgesOf(items, `${place}[0]`, '')) yield { ...within, value: [value] };
      } else if (form.properties) {
        const least = leastOf(form) as object;
        for (const [name, property] of Object.entries(form.properties))
          for (const { value, ...within } of edgesOf(property, `${place}.${name}`, name))
            yield { ...within, value: { ...least, [name]: value } };
      }
    }
  }

  return Object.entries(schemas[name]?.properties ?? {})
    .filter(([field]) => !skipped.includes(field))
    .flatMap(([field, schema]) =>
      Array.from(edgesOf(schema, field, field), (value) => ({
        ...value,
        field,
        isPartial: schema['x-support'] === 'partial',
      })),
    );
}
