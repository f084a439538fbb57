import { toProblem } from '@turnpike/config/toProblem';
import { isIgnored } from '@turnpike/public-api/requestFields';
import { z } from 'zod';
import { invalidRequest } from '../faults/requestFault.ts';

type Read = (value: unknown) => unknown;
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
  const read = compile(schema);
  return (value) => {
    try {
      return read(value) as z.output<Schema>;
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      const param = toParam(error.path);
      throw invalidRequest(param, `${param ?? 'The body'} ${error.message}`);
    }
  };
}

function compile(schema: z.ZodType): Read {
  const inner = withinOptional(schema);
  if (inner) {
    const read = compile(inner);
    const absent = schema.parse(undefined);
    return (value) => (value === undefined || value === null ? absent : read(value));
  }
  if (isIgnored(schema)) return () => undefined;
  if (schema instanceof z.ZodObject) return compileObject(schema);
  if (schema instanceof z.ZodArray) return compileArray(schema);
  if (schema instanceof z.ZodDiscriminatedUnion) return compileForms(schema);
  if (schema instanceof z.ZodUnion) return compileUnion(schema);
  if (schema instanceof z.ZodRecord) return (value) => (isObject(value) ? value : refuse(schema, value));
  if (schema instanceof z.ZodLiteral) {
    const { values } = schema;
    return (value) => (values.has(value as z.core.util.Literal) ? value : refuse(schema, value));
  }
  if (schema instanceof z.ZodBoolean) return (value) => (typeof value === 'boolean' ? value : refuse(schema, value));
  const isPlainText = schema instanceof z.ZodString && (schema.def.checks ?? []).length === 0;
  if (isPlainText) return (value) => (typeof value === 'string' ? value : refuse(schema, value));
  return (value) => {
    const result = schema.safeParse(value, { error: toProblem });
    return result.success ? result.data : refuse(schema, value);
  };
}

function compileObject(schema: z.ZodObject): Read {
  const fields = Object.entries(schema.shape).map(([key, field]) => ({ key, read: compile(field as z.ZodType) }));
  const known = new Set(Object.keys(schema.shape));
  const isStrict = schema.def.catchall instanceof z.ZodNever;
  return (value) => {
    if (!isObject(value)) return refuse(schema, value);
    const result: Json = {};
    let at: PropertyKey = '';
    try {
      for (const { key, read } of fields) {
        at = key;
        const field = read(value[key]);
        if (field !== undefined) result[key] = field;
      }
    } catch (error) {
      throw below(at, error);
    }
    if (isStrict)
      for (const key in value)
        if (!known.has(key) && value[key] !== null)
          throw mismatch('is not supported', { path: [key], isOfWrongKind: false });
    return result;
  };
}

function compileArray(schema: z.ZodArray): Read {
  const read = compile(schema.element as z.ZodType);
  const { minimum, maximum } = lengthsOf(schema);
  return (value) => {
    if (!Array.isArray(value)) return refuse(schema, value);
    // Before anything of it is looked at.
    if (value.length > maximum)
      throw mismatch(`must have at most ${maximum} items, not ${value.length}`, { isOfWrongKind: false });
    if (value.length < minimum) return refuse(schema, value);
    const result: unknown[] = [];
    try {
      for (const element of value) result.push(read(element));
    } catch (error) {
      throw below(result.length, error);
    }
    return result;
  };
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

/** Forms told apart by one of their fields. */
function compileForms(schema: z.ZodDiscriminatedUnion): Read {
  const { discriminator, options } = schema.def;
  const forms = new Map<unknown, Read>();
  for (const option of options as z.ZodObject[]) {
    const read = compile(option);
    for (const name of (option.shape[discriminator] as z.ZodLiteral).values) forms.set(name, read);
  }
  return (value) => {
    if (!isObject(value)) throw mismatch(wordingOf(schema, value));
    const read = forms.get(value[discriminator]);
    if (!read) throw mismatch(wordingOf(schema, value), { path: [discriminator] });
    return read(value);
  };
}

/** Forms told apart by the kind of value. */
function compileUnion(schema: z.ZodUnion): Read {
  const forms = (schema.def.options as z.ZodType[]).map((option) => ({ isOf: kindOf(option), read: compile(option) }));
  return (value) => {
    const form = forms.find(({ isOf }) => isOf(value));
    if (!form) throw mismatch(wordingOf(schema, value));
    try {
      return form.read(value);
    } catch (error) {
      // A part of a list of content parts is named itself; a list of what is no text is no form of `stop`.
      const isOwnWording = error instanceof Mismatch && error.isOfWrongKind && error.path.length <= 1;
      throw isOwnWording ? mismatch(wordingOf(schema, value)) : error;
    }
  };
}

function kindOf(schema: z.ZodType): (value: unknown) => boolean {
  if (schema instanceof z.ZodArray) return Array.isArray;
  if (schema instanceof z.ZodObject || schema instanceof z.ZodDiscriminatedUnion) return isObject;
  if (schema instanceof z.ZodString || schema instanceof z.ZodEnum) return (value) => typeof value === 'string';
  throw new Error(`no form of a value is told by ${schema.type}`);
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
