import { z } from 'zod';
import type { RequestBody, UploadedFile } from '../http/readBody.ts';
import { EngineError, type Issue } from '../wire/engineError.ts';

/** Whole numbers, also where a form brings them as text. */
export const integer = z.coerce.number().int();
export const flag = z.union([z.boolean(), z.stringbool()]);
/** A field that may be absent, null or, in a form, empty. */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (value === null || value === '' ? undefined : value), schema.optional());

/** Languages that Whisper has, as it calls them; its engines refuse any other. */
export const WHISPER_LANGUAGES = new Set(
  `en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml cy sk te fa lv bn
  sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am yi lo uz fo ht ps tk nn mt sa lb my bo
  tl mg as tt haw ln ha ba jw su yue`.split(/\s+/),
);

/** The parts of a transcript that are to have times: `timestamp_granularities[]`. */
export const granularities = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(['segment', 'word'])));

/** `WIDTHxHEIGHT` in pixels. */
export const sizeText = z.string().regex(/^[1-9]\d{0,4}x[1-9]\d{0,4}$/, 'size must be in format WIDTHxHEIGHT');

export function parseSize(size: string): { width: number; height: number } {
  const [width = 0, height = 0] = size.split('x').map(Number);
  return { width, height };
}

/** The members of a body: those of the JSON object, or the fields of a form. */
export const membersOf = (body: RequestBody): unknown => (body.kind === 'json' ? body.value : body.fields);

/** Fields and files of a form; of anything else none. */
export const formOf = (body: RequestBody): { fields: Record<string, string>; files: Record<string, UploadedFile> } =>
  body.kind === 'form' ? body : { fields: {}, files: {} };

/** Reads members through a schema. Throws the list of what is wrong with them; what nobody asked for is passed over. */
export function readMembers<Schema extends z.ZodType>(members: unknown, schema: Schema): z.output<Schema> {
  const result = schema.safeParse(members);
  if (result.success) return result.data;
  const issues = result.error.issues.map((issue) => toIssue(issue, members));
  const [first] = issues;
  throw new EngineError(422, `1 validation error: ${first?.loc.join('.')}: ${first?.msg}`, {
    issues,
    param: first ? String(first.loc.at(-1)) : null,
  });
}

function toIssue({ path, message, code }: z.core.$ZodIssue, members: unknown): Issue {
  const names = path.map((name) => (typeof name === 'number' ? name : String(name)));
  const at = names.reduce<unknown>(
    (value, name) => (typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined),
    members,
  );
  const isMissing = at === undefined && code !== 'unrecognized_keys';
  return {
    type: isMissing ? 'missing' : 'value_error',
    loc: ['body', ...names],
    msg: isMissing ? 'Field required' : message,
    input: isMissing ? null : at,
  };
}
