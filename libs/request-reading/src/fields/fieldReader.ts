import { toProblem } from '@turnpike/config/toProblem';
import { isIgnored } from '@turnpike/public-api/requestFields';
import { z } from 'zod';
import { invalidRequest } from '../faults/requestFault.ts';

type Json = Record<string, unknown>;

/** The schema within an `optional` one, or one `withDefault`. */
function withinOptional(schema: z.ZodType): z.ZodType | undefined {
  if (!(schema instanceof z.ZodPipe && schema.in instanceof z.ZodOptional)) return undefined;
  const nullable = schema.in.unwrap();
  return nullable instanceof z.ZodNullable ? (nullable.unwrap() as z.ZodType) : undefined;
}

/** Says no more than that a value is not as it should be, and where. */
class Mismatch extends Error {
  override name = 'Mismatch';
  /** The way to it from the value that is being read, put together by those that hold it as it comes up to them. */
  readonly path: PropertyKey[];
  /** False where the value is of the right kind and breaks another rule: then its own words say more than "must be this or that". */
  readonly isOfWrongKind: boolean;

  constructor(problem: string, { path, isOfWrongKind }: { path: PropertyKey[]; isOfWrongKind: boolean }) {
    super(problem);
    this.path = path;
    this.isOfWrongKind = isOfWrongKind;
  }
}

/**
 * Makes a function that reads a parsed body through a schema. The function returns a new value, which has only the
 * fields of the schema.
 * It throws `invalid_request` with the first problem and its path (`messages[0].content`), and stops there. Zod itself
 * collects every problem, so a small body could block the process. It visits a value once, so it takes time by the
 * number of values up to the first problem.
 */
export function createFieldReader<Schema extends z.ZodType>(schema: Schema): (value: unknown) => z.output<Schema> {
  const reading = compile(schema);
  return (value) => {
    try {
      return read(reading, value) as z.output<Schema>;
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      const param = toParam(error.path);
      throw invalidRequest(param, `${param ?? 'The body'} ${error.message}`);
    }
  };
}

/** How a value is read, as its schema says. */
type Reading = ObjectReading | ArrayReading | FormsReading | UnionReading | SingleReading;

type SingleReading =
  | { kind: 'ignored' }
  | { kind: 'optional'; within: Reading; absent: unknown }
  | { kind: 'record' | 'boolean' | 'string' | 'checked'; schema: z.ZodType }
  | { kind: 'literal'; schema: z.ZodLiteral };

interface ObjectReading {
  kind: 'object';
  schema: z.ZodObject;
  fields: { key: string; field: Reading }[];
  known: ReadonlySet<string>;
  isStrict: boolean;
}

interface ArrayReading {
  kind: 'array';
  schema: z.ZodArray;
  element: Reading;
  minimum: number;
  maximum: number;
}

/** Forms told apart by one of their fields. */
interface FormsReading {
  kind: 'forms';
  schema: z.ZodDiscriminatedUnion;
  forms: ReadonlyMap<unknown, Reading>;
}

/** Forms told apart by the kind of value. */
interface UnionReading {
  kind: 'union';
  schema: z.ZodUnion;
  forms: ReadonlyMap<string, Reading>;
}

function compile(schema: z.ZodType): Reading {
  const inner = withinOptional(schema);
  if (inner) return { kind: 'optional', within: compile(inner), absent: schema.parse(undefined) };
  if (isIgnored(schema)) return { kind: 'ignored' };
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape).map(([key, field]) => ({ key, field: compile(field as z.ZodType) }));
    const isStrict = schema.def.catchall instanceof z.ZodNever;
    return { kind: 'object', schema, fields, known: new Set(Object.keys(schema.shape)), isStrict };
  }
  if (schema instanceof z.ZodArray)
    return { kind: 'array', schema, element: compile(schema.element as z.ZodType), ...lengthsOf(schema) };
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const { discriminator, options } = schema.def;
    const forms = new Map<unknown, Reading>();
    for (const option of options as z.ZodObject[]) {
      const form = compile(option);
      for (const name of (option.shape[discriminator] as z.ZodLiteral).values) forms.set(name, form);
    }
    return { kind: 'forms', schema, forms };
  }
  if (schema instanceof z.ZodUnion) {
    // The first counts if two options are of one kind.
    const forms = new Map<string, Reading>();
    for (const option of (schema.def.options as z.ZodType[]).toReversed()) forms.set(kindOf(option), compile(option));
    return { kind: 'union', schema, forms };
  }
  if (schema instanceof z.ZodRecord) return { kind: 'record', schema };
  if (schema instanceof z.ZodLiteral) return { kind: 'literal', schema };
  if (schema instanceof z.ZodBoolean) return { kind: 'boolean', schema };
  const isPlainText = schema instanceof z.ZodString && (schema.def.checks ?? []).length === 0;
  return { kind: isPlainText ? 'string' : 'checked', schema };
}

function lengthsOf({ def }: z.ZodArray): { minimum: number; maximum: number } {
  const lengths = { minimum: 0, maximum: Number.POSITIVE_INFINITY };
  for (const { _zod } of def.checks ?? []) {
    const check = _zod.def as { check: string; minimum?: number; maximum?: number };
    if (check.check === 'min_length') lengths.minimum = check.minimum ?? 0;
    if (check.check === 'max_length') lengths.maximum = check.maximum ?? lengths.maximum;
  }
  return lengths;
}

function kindOf(schema: z.ZodType): 'array' | 'object' | 'string' {
  if (schema instanceof z.ZodArray) return 'array';
  if (schema instanceof z.ZodObject || schema instanceof z.ZodDiscriminatedUnion) return 'object';
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return 'string';
  throw new Error(`no form of a value is told by ${schema.type}`);
}

/** Returns a value as it is read. Throws a `Mismatch` at the first problem. */
function read(reading: Reading, value: unknown): unknown {
  switch (reading.kind) {
    case 'ignored':
      return undefined;
    case 'optional':
      return value === undefined || value === null ? reading.absent : read(reading.within, value);
    case 'object':
      return readObject(reading, value);
    case 'array':
      return readArray(reading, value);
    case 'forms':
      return readForm(reading, value);
    case 'union':
      return readOneOf(reading, value);
    case 'record':
      return isObject(value) ? value : refuse(reading.schema, value);
    case 'literal':
      return reading.schema.values.has(value as z.core.util.Literal) ? value : refuse(reading.schema, value);
    case 'boolean':
    case 'string':
      return typeof value === reading.kind ? value : refuse(reading.schema, value);
    case 'checked': {
      const result = reading.schema.safeParse(value, { error: toProblem });
      return result.success ? result.data : refuse(reading.schema, value);
    }
  }
}

function readObject({ schema, fields, known, isStrict }: ObjectReading, value: unknown): Json {
  if (!isObject(value)) return refuse(schema, value);
  const result: Json = {};
  let at: PropertyKey = '';
  try {
    for (const { key, field } of fields) {
      at = key;
      const member = read(field, value[key]);
      if (member !== undefined) result[key] = member;
    }
  } catch (error) {
    throw below(at, error);
  }
  if (isStrict)
    for (const key in value)
      if (!known.has(key) && value[key] !== null)
        throw mismatch('is not supported', { path: [key], isOfWrongKind: false });
  return result;
}

function readArray({ schema, element, minimum, maximum }: ArrayReading, value: unknown): unknown[] {
  if (!Array.isArray(value)) return refuse(schema, value);
  // Before anything of it is looked at.
  if (value.length > maximum)
    throw mismatch(`must have at most ${maximum} items, not ${value.length}`, { isOfWrongKind: false });
  if (value.length < minimum) return refuse(schema, value);
  const result: unknown[] = [];
  try {
    for (const item of value) result.push(read(element, item));
  } catch (error) {
    throw below(result.length, error);
  }
  return result;
}

function readForm({ schema, forms }: FormsReading, value: unknown): unknown {
  if (!isObject(value)) throw mismatch(wordingOf(schema, value));
  const { discriminator } = schema.def;
  const form = forms.get(value[discriminator]);
  if (!form) throw mismatch(wordingOf(schema, value), { path: [discriminator] });
  return read(form, value);
}

function readOneOf({ schema, forms }: UnionReading, value: unknown): unknown {
  const form = value === null ? undefined : forms.get(Array.isArray(value) ? 'array' : typeof value);
  if (!form) throw mismatch(wordingOf(schema, value));
  try {
    return read(form, value);
  } catch (error) {
    // A part of a list of content parts is named itself; a list of what is no text is no form of `stop`.
    const isOwnWording = error instanceof Mismatch && error.isOfWrongKind && error.path.length <= 1;
    throw isOwnWording ? mismatch(wordingOf(schema, value)) : error;
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Words what is wrong with a value of another kind, or with a single one: neither takes zod long. */
function refuse(schema: z.ZodType, value: unknown): never {
  const issue = schema.safeParse(value, { error: toProblem }).error?.issues[0];
  // A literal tells the forms of a value apart; one of several words does not.
  const isOfWrongKind = issue?.code === 'invalid_type' || schema instanceof z.ZodLiteral;
  throw mismatch(`${issue?.message ?? 'is not valid'}${toSent(issue?.message, value)}`, { isOfWrongKind });
}

/** Names a number, or the length of a text, that is beyond the bound which the problem names. */
function toSent(problem: string | undefined, value: unknown): string {
  if (!problem || !/ at (?:most|least) [\d.]+(?: characters)?$/.test(problem)) return '';
  if (typeof value === 'number') return `, not ${value}`;
  return typeof value === 'string' && value !== '' ? `, not ${value.length}` : '';
}

/** The schema's own wording for a value that has none of its forms. */
function wordingOf(schema: z.ZodUnion | z.ZodDiscriminatedUnion, value: unknown): string {
  const issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion> = { code: 'invalid_union', input: value, errors: [] };
  const words = (schema.def.error as z.core.$ZodErrorMap<z.core.$ZodIssueInvalidUnion> | undefined)?.(issue);
  return (typeof words === 'string' ? words : words?.message) ?? 'has none of the forms it may have';
}

const mismatch = (
  problem: string,
  { path = [], isOfWrongKind = true }: { path?: PropertyKey[]; isOfWrongKind?: boolean } = {},
): Mismatch => new Mismatch(problem, { path, isOfWrongKind });

/** Adds a key to the path of an error, as the value around it sees the error. */
function below(key: PropertyKey, error: unknown): unknown {
  if (error instanceof Mismatch) error.path.unshift(key);
  return error;
}

/** Names that fields have. A longer or stranger one is some text of the client's, which no error repeats. */
const FIELD_NAME = /^[\w-]{1,64}$/;

/**
 * The place of a value in a body, as every 400 names it: `messages[2].content[0].type`. Ends before a key that is not like
 * the name of a field; null when that leaves nothing, or for the body itself.
 */
export function toParam(path: readonly PropertyKey[]): string | null {
  let param = '';
  for (const step of path) {
    const name = String(step);
    if (typeof step === 'number') param += `[${name}]`;
    else if (FIELD_NAME.test(name)) param += param === '' ? name : `.${name}`;
    else break;
  }
  return param === '' ? null : param;
}
