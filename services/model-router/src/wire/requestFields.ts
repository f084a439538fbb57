import { ApiError } from '@turnpike/api-errors/apiError';
import { z } from 'zod';

/** A request field that cannot be served. `param` names it as the client wrote it. */
export interface RequestFault {
  kind: 'invalid_request';
  message: string;
  param: string | null;
}

export const invalidRequest = (param: string | null, message: string): ApiError<RequestFault> =>
  new ApiError({ kind: 'invalid_request', message, param });

const MAX_STOPS = 4;
const MAX_OUTPUT_TOKENS = 2 ** 31 - 1;

/** Explicit null is absence for every optional field. */
export const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

/** What chat and completions have in common (specification, Chat completion request fields). */
export const generationFields = {
  model: z.string().min(1, 'must name a model'),
  temperature: optional(z.number().min(0).max(2)),
  top_p: optional(z.number().min(0).max(1)),
  presence_penalty: optional(z.number().min(-2).max(2)),
  frequency_penalty: optional(z.number().min(-2).max(2)),
  stop: optional(
    z.union([z.string(), z.array(z.string()).max(MAX_STOPS)], `must be a text or a list of at most ${MAX_STOPS} texts`),
  ),
  // A 64-bit seed is checked here as the double it parses to, and travels on as the digits the client sent.
  seed: optional(
    z
      .number()
      .min(-(2 ** 63))
      .max(2 ** 63)
      .refine(Number.isInteger, 'must be an integer'),
  ),
  user: optional(z.string()),
  max_tokens: optional(z.number().int().min(1).max(MAX_OUTPUT_TOKENS)),
  max_completion_tokens: optional(z.number().int().min(1).max(MAX_OUTPUT_TOKENS)),
  stream: optional(z.boolean()),
  stream_options: optional(z.looseObject({ include_usage: optional(z.boolean()) })),
  n: optional(z.literal(1, 'only one choice is returned: n must be 1')),
};

/** Keys that steer the engine, cross tenants, or cost more than the hold. No client may set them. */
const ENGINE_CONTROL_KEYS = new Set([
  'cache_salt',
  'priority',
  'request_id',
  'session_id',
  'chat_template',
  'mm_processor_kwargs',
  'media_io_kwargs',
  'prompt_embeds',
  'kv_transfer_params',
  'ec_transfer_params',
  'vllm_xargs',
  'best_of',
  'use_beam_search',
  'prompt_logprobs',
  'echo',
  'return_token_ids',
  'documents',
  'logits_processors',
  'api_base',
]);

/** Throws `invalid_request` naming the first key of the body that no client may set (decisions, Order of the gates). */
export function refuseEngineControlKeys(value: Record<string, unknown>): void {
  for (const key of Object.keys(value)) {
    if (ENGINE_CONTROL_KEYS.has(key) && value[key] !== null) throw invalidRequest(key, `${key} is not supported`);
  }
  const template = value.chat_template_kwargs;
  if (template === undefined || template === null) return;
  const isAllowed = typeof template === 'object' && Object.keys(template).every((key) => key === 'enable_thinking');
  if (!isAllowed) throw invalidRequest('chat_template_kwargs', 'chat_template_kwargs may hold only enable_thinking');
}

/** Reads a body through a schema. Throws `invalid_request` with the first thing wrong and its place: `messages[0].content`. */
export function parseFields<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (!issue) throw invalidRequest(null, 'The body is not valid.');
  const param = issue.path.reduce<string>(
    (path, step) =>
      typeof step === 'number' ? `${path}[${step}]` : path === '' ? String(step) : `${path}.${String(step)}`,
    '',
  );
  throw invalidRequest(param === '' ? null : param, `${param === '' ? 'The body' : param}: ${toProblem(issue)}`);
}

const EXPECTED: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/** What is wrong, in words for whoever wrote the request; a message that a schema brings stands as it is. */
function toProblem(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.message.includes('received undefined')) return 'is required';
      return issue.message.startsWith('Invalid input')
        ? `must be ${EXPECTED[issue.expected] ?? issue.expected}`
        : issue.message;
    case 'too_small':
      return issue.message.startsWith('Too small')
        ? `must be at least ${issue.minimum}${unitOf(issue.origin)}`
        : issue.message;
    case 'too_big':
      return issue.message.startsWith('Too big')
        ? `must be at most ${issue.maximum}${unitOf(issue.origin)}`
        : issue.message;
    case 'invalid_value':
      return issue.message.startsWith('Invalid') ? `must be ${issue.values.join(' or ')}` : issue.message;
    default:
      return issue.message;
  }
}

const unitOf = (origin: string): string =>
  origin === 'string' ? ' characters long' : origin === 'array' ? ' items long' : '';
