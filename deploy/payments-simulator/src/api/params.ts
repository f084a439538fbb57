import qs from 'qs';
import { z } from 'zod';
import { ApiFault } from './apiFault.ts';

/**
 * Makes a strict schema of parameters whose names are those of the client's type `Params`.
 * A name that the client does not have fails to compile.
 */
export const paramsOf =
  <Params>() =>
  <Shape extends z.ZodRawShape>(shape: Shape & Record<Exclude<keyof Shape, keyof Params>, never>) =>
    z.strictObject<Shape>(shape);

const complain = (noun: string) => (text: unknown) => `Invalid ${noun}: ${String(text)}`;

export const text = z.string().min(1).max(5_000);
export const integer = z
  .string()
  .regex(/^-?\d{1,12}$/, { error: ({ input }) => complain('integer')(input) })
  .transform(Number);
export const boolean = z
  .enum(['true', 'false'], { error: ({ input }) => complain('boolean')(input) })
  .transform((value) => value === 'true');
/** Returns a schema of the words that the simulator knows for a parameter. */
export const oneOf = <const Word extends string>(...words: Word[]) =>
  z.enum(words, { error: ({ input }) => `Invalid value ${String(input)}: must be one of ${words.join(', ')}` });
/** An empty text unsets the value. */
export const orUnset = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([z.literal('').transform(() => null), schema]);
export const currency = z.string().toLowerCase().pipe(oneOf('eur', 'usd'));
export const metadata = orUnset(
  z
    .record(z.string().min(1).max(40), z.string().max(500))
    .refine((values) => Object.keys(values).length <= 50, { error: 'Metadata can have up to 50 keys' }),
);
export const address = z.strictObject({
  city: orUnset(text).optional(),
  country: orUnset(
    z.string().regex(/^[A-Z]{2}$/, { error: ({ input }) => `Country '${String(input)}' is unknown` }),
  ).optional(),
  line1: orUnset(text).optional(),
  line2: orUnset(text).optional(),
  postal_code: orUnset(text).optional(),
  state: orUnset(text).optional(),
});
/** A list as forms carry it. */
export const listOf = <Schema extends z.ZodType>(schema: Schema) => z.array(schema).min(1);
export const pagination = {
  limit: integer.pipe(z.number().min(1).max(100)).default(10),
  starting_after: text.optional(),
  ending_before: text.optional(),
};
export const createdRange = z
  .union([
    integer.transform((at) => ({ gte: at, lte: at })),
    z.strictObject({
      gt: integer.optional(),
      gte: integer.optional(),
      lt: integer.optional(),
      lte: integer.optional(),
    }),
  ])
  .optional();

/** Parses the form of a body or the query of an address, with its brackets. */
export const parseForm = (form: string): Record<string, unknown> =>
  qs.parse(form, { arrayLimit: 100, depth: 8, parameterLimit: 2_000, plainObjects: false }) as Record<string, unknown>;

/** Splits `expand` off and checks the rest. Throws the fault of the first parameter that is wrong. */
export function readParams<Schema extends z.ZodType>(
  schema: Schema,
  { expand, ...rest }: Record<string, unknown>,
): { params: z.output<Schema>; expand: string[] } {
  const paths = z.array(z.string()).max(20).default([]).safeParse(expand);
  if (!paths.success) throw refuse('Invalid array', 'expand', 'parameter_invalid');
  const parsed = schema.safeParse(rest);
  if (parsed.success) return { params: parsed.data, expand: paths.data };
  throw toFault(firstIssue(parsed.error.issues), rest);
}

/** Returns the issue that says most: an unknown name, or in a union that of the alternative that got furthest. */
function firstIssue(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue {
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
  if (issue === undefined) throw new Error('a schema refused without an issue');
  if (issue.code !== 'invalid_union') return issue;
  const inner = issue.errors.map((each) => firstIssue(each)).toSorted((a, b) => b.path.length - a.path.length)[0];
  return inner === undefined ? issue : { ...inner, path: [...issue.path, ...inner.path] };
}

function toFault(issue: z.core.$ZodIssue, given: unknown): ApiFault {
  if (issue.code === 'unrecognized_keys') {
    const param = toParam([...issue.path, issue.keys[0] ?? '']);
    return refuse(`Received unknown parameter: ${param}`, param, 'parameter_unknown');
  }
  const param = toParam(issue.path);
  const value = issue.path.reduce<unknown>(
    (at, step) => (at as Record<PropertyKey, unknown> | undefined)?.[step],
    given,
  );
  if (value === undefined) return refuse(`Missing required param: ${param}.`, param, 'parameter_missing');
  if (value === '') return refuse(`You passed an empty string for '${param}'.`, param, 'parameter_invalid_empty');
  const code = issue.message.startsWith('Invalid integer') ? 'parameter_invalid_integer' : 'parameter_invalid';
  return refuse(`${issue.message} (${param})`, param, code);
}

const refuse = (message: string, param: string, code: string): ApiFault =>
  new ApiFault(400, { type: 'invalid_request_error', code, message, param }, { isKept: false });

const toParam = ([first, ...rest]: readonly PropertyKey[]): string =>
  String(first) + rest.map((step) => `[${String(step)}]`).join('');

/** Applies a change to metadata: an empty value removes a key, and unset removes all. */
export function mergeMetadata(
  before: Record<string, string> | null,
  change: Record<string, string> | null | undefined,
): Record<string, string> {
  if (change === undefined) return before ?? {};
  if (change === null) return {};
  return Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value !== ''));
}
