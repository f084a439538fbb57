import { z } from 'zod';
import { optional } from './fieldReader.ts';
import type { JsonBody } from './readBody.ts';
import { invalidRequest } from './requestFault.ts';

const MAX_STOPS = 4;
const MAX_OUTPUT_TOKENS = 2 ** 31 - 1;
const SEED_TOO_LARGE = 'must fit 64 bits';

/** What chat and completions have in common (specification, Chat completion request fields). */
export const generationFields = {
  model: z
    .string()
    .min(1, 'must name a model')
    .meta({ description: 'Id or alias of a model, as `GET /v1/models` lists it, without a provider in front.' }),
  temperature: optional(z.number().min(0).max(2)).meta({
    description: 'How freely tokens are drawn; 0 takes the likeliest.',
  }),
  top_p: optional(z.number().min(0).max(1)).meta({
    description: 'Draws from the likeliest tokens that together have this probability.',
  }),
  presence_penalty: optional(z.number().min(-2).max(2)).meta({
    description: 'Makes tokens that have come up less likely.',
  }),
  frequency_penalty: optional(z.number().min(-2).max(2)).meta({
    description: 'The same, the more often they have come up.',
  }),
  stop: optional(
    z.union([z.string(), z.array(z.string()).max(MAX_STOPS)], `must be a text or a list of at most ${MAX_STOPS} texts`),
  ).meta({ description: 'Ends the answer where one of these would come.' }),
  // A 64-bit seed is checked here as the double it parses to (`refuseSeedBeyond64Bits` reads the digits), and travels on
  // as the client wrote it.
  seed: optional(
    z
      .number()
      .min(-(2 ** 63), SEED_TOO_LARGE)
      .max(2 ** 63, SEED_TOO_LARGE)
      .refine(Number.isInteger, 'must be a whole number')
      .meta({ type: 'integer' }),
  ).meta({
    description: 'A whole number of at most 64 bits. Equal requests with equal seeds tend to get equal answers.',
  }),
  user: optional(z.string()).meta({
    description: 'The end user’s id at the client.',
    note: 'Taken, and not passed to engines.',
  }),
  max_tokens: optional(z.number().int().min(1).max(MAX_OUTPUT_TOKENS)).meta({
    description:
      'Most tokens to generate. An answer that is not streamed has 2048 at most on chat, whatever stands here.',
    note: 'An answer that is not streamed is cut at 2048 on chat.',
  }),
  max_completion_tokens: optional(z.number().int().min(1).max(MAX_OUTPUT_TOKENS)).meta({
    description: 'Newer name of `max_tokens`, which it overrides.',
  }),
  stream: optional(z.boolean()).meta({ description: 'Whether the answer comes as server-sent events.' }),
  stream_options: optional(
    z.looseObject({
      include_usage: optional(z.boolean()).meta({
        description: 'Adds a last chunk with the usage. What is billed does not depend on it.',
      }),
    }),
  ).meta({ description: 'Only with `stream`.' }),
  n: optional(z.literal(1, 'must be 1: only one choice is returned')).meta({
    description: 'Only one choice is returned.',
    support: 'no',
    note: 'Only 1 is taken; more is 400 with `param` `n`.',
  }),
  logprobs: optional(z.literal(false, 'is not supported')).meta({
    description: 'Not supported.',
    support: 'no',
    note: 'Only false and null are taken; anything else is 400.',
  }),
  top_logprobs: optional(z.literal(false, 'is not supported')).meta({
    description: 'Not supported.',
    support: 'no',
    note: 'Only false and null are taken; anything else is 400.',
  }),
};

/**
 * Keys that steer the engine, cross tenants, or cost more than the hold. No client may set them, not even to what they
 * are by default. Considered as well, and forwarded, since each concerns only the call that sets it and costs no more than
 * its hold: `min_tokens`, `ignore_eos`, `stop_token_ids` and `thinking_token_budget` (bounded by `max_tokens`),
 * `allowed_token_ids`, `bad_words`, `logit_bias`, `truncate_prompt_tokens`, `add_generation_prompt`,
 * `continue_final_message`, `structured_outputs` and its older `guided_*` (a grammar that an engine cannot compile is a
 * refusal of the engine's), `stream_interval`, `include_reasoning`, and of the convention the older `functions` and
 * `function_call`. To be gone through again with every version of the engine.
 */
export const ENGINE_CONTROL_KEYS = new Set([
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
}

/**
 * The one switch that a client may set for the chat template. Throws `invalid_request` for any other: a template's variables
 * are the operator's.
 */
export function readTemplateSwitch({ chat_template_kwargs: value }: Record<string, unknown>): object | undefined {
  if (value === undefined || value === null) return undefined;
  const isObject = typeof value === 'object' && !Array.isArray(value);
  if (isObject && Object.keys(value).every((key) => key === 'enable_thinking')) {
    const { enable_thinking: isOn } = value as { enable_thinking?: unknown };
    if (isOn === undefined || isOn === null) return undefined;
    if (typeof isOn === 'boolean') return { enable_thinking: isOn };
  }
  throw invalidRequest('chat_template_kwargs', 'chat_template_kwargs may hold only enable_thinking, true or false');
}

const WHOLE_NUMBER = /^-?\d+$/;

/**
 * Throws `invalid_request` for a seed of more than 64 bits, by the digits the client wrote: as a double, the first seed
 * too large looks like the last that is not.
 */
export function refuseSeedBeyond64Bits({ members, bytes }: Pick<JsonBody, 'members' | 'bytes'>): void {
  const seed = members.findLast(({ key }) => key === 'seed');
  if (!seed) return;
  const digits = bytes.toString('utf8', seed.valueStart, seed.end).trim();
  if (WHOLE_NUMBER.test(digits) && BigInt.asIntN(64, BigInt(digits)) !== BigInt(digits))
    throw invalidRequest('seed', `seed ${SEED_TOO_LARGE}`);
}
