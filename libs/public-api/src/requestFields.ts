import { z } from 'zod';

const MAX_STOPS = 4;
const stopText = z.string().min(1);
const MAX_OUTPUT_TOKENS = 2 ** 31 - 1;
export const SEED_TOO_LARGE = 'must fit 64 bits';

/** Explicit null is absence for every optional field. */
export const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

/** A field whose absence, and explicit null, stands for a value. */
export const withDefault = <T extends z.ZodType>(schema: T, absent: z.output<T>) =>
  schema.nullish().transform((value) => value ?? absent);

/** The schemas of fields that are never passed on. */
const dropped = new WeakSet<z.ZodType>();

/** A field that clients may send, whatever it holds, and that is never passed on: nothing reads it. */
export function ignored(description: string) {
  const schema = z
    .unknown()
    .optional()
    .meta({ description, support: 'no', note: 'Accepted and not passed to engines.' });
  dropped.add(schema);
  return schema;
}

export const isIgnored = (schema: z.ZodType): boolean => dropped.has(schema);

const refused = (instead: string) =>
  optional(z.never(`is not supported: ${instead}`)).meta({
    description: 'Not supported.',
    support: 'no',
    note: '400.',
  });

/** Fields of other gateways and of the older convention. A request runs otherwise than its client means if they are ignored. */
export const foreignFields = {
  models: refused('send the name of one model as model'),
  route: refused('send the name of one model as model'),
  provider: refused('send the name of one model as model'),
  plugins: refused('send functions as tools'),
  transforms: refused('shorten the messages or the text before you send them as messages, prompt or input'),
  functions: refused('send functions as tools'),
  function_call: refused('use tools and tool_choice'),
  session_id: ignored('Taken for clients of other gateways.'),
};

/** The fields that chat and completions have in common. */
export const generationFields = {
  model: z.string().min(1, 'must name a model').meta({
    description:
      'Id of a model, as `GET /v1/models` lists it; or an alias, its `hugging_face_id` in any case, or `<owner>/<id>`.',
  }),
  temperature: optional(z.number().min(0).max(2)).meta({
    description: 'Sampling temperature; 0 takes the likeliest token.',
  }),
  top_p: optional(z.number().min(0).max(1)).meta({
    description: 'Samples from the likeliest tokens that together have this probability; 0 takes the likeliest alone.',
  }),
  presence_penalty: optional(z.number().min(-2).max(2)).meta({
    description: 'Lowers the probability of tokens that have occurred.',
  }),
  frequency_penalty: optional(z.number().min(-2).max(2)).meta({
    description: 'Lowers the probability of tokens by how often they have occurred.',
  }),
  stop: optional(
    z.union([stopText, z.array(stopText).max(MAX_STOPS)], `must be a text or a list of at most ${MAX_STOPS} texts`),
  ).meta({ description: 'Ends the output before one of these texts.' }),
  // A 64-bit seed is checked here as the double it parses to (`refuseSeedBeyond64Bits` reads the digits), and travels on
  // as the client wrote it.
  seed: optional(
    z
      .number()
      .min(-(2 ** 63), SEED_TOO_LARGE)
      .max(2 ** 63, SEED_TOO_LARGE)
      .refine(Number.isInteger, 'must be a whole number')
      // No double is the largest seed.
      .meta({ type: 'integer', format: 'int64', minimum: undefined, maximum: undefined }),
  ).meta({
    description: 'A whole number of at most 64 bits. Equal requests with equal seeds tend to get equal outputs.',
  }),
  user: optional(z.string()).meta({
    description: 'The end user’s id at the client.',
    note: 'Accepted and not passed to engines.',
  }),
  max_tokens: optional(z.number().int().min(1).max(MAX_OUTPUT_TOKENS)).meta({
    description:
      'Most tokens to generate. An answer that is not streamed has 2048 at most on chat, whatever stands here.',
    note: 'A chat response that is not streamed is cut at 2048.',
  }),
  max_completion_tokens: optional(z.number().int().min(1).max(MAX_OUTPUT_TOKENS)).meta({
    description: 'Newer name of `max_tokens`, which it overrides.',
  }),
  stream: optional(z.boolean()).meta({ description: 'Whether the response is server-sent events.' }),
  stream_options: optional(
    z.looseObject({
      include_usage: optional(z.boolean()).meta({
        description: 'Adds a last chunk with the usage. The charge does not depend on it.',
      }),
    }),
  ).meta({ description: 'Only with `stream`.' }),
  n: optional(z.literal(1, 'must be 1: only one choice is returned')).meta({
    description: 'Only one choice is returned.',
    support: 'no',
    note: 'Only 1 is accepted; more is 400 with `param` `n`.',
  }),
  logprobs: optional(z.literal(false, 'is not supported')).meta({
    description: 'Not supported.',
    support: 'no',
    note: 'Only false and null are accepted; anything else is 400.',
  }),
  top_logprobs: optional(z.literal([false, 0], 'is not supported')).meta({
    description: 'Not supported.',
    support: 'no',
    note: 'Only false, 0 and null are accepted; anything else is 400.',
  }),
  ...foreignFields,
};

/**
 * Keys that no client may set, even to their default. `test/attacks/engine-models` judges every key of the request
 * models of vLLM and SGLang, and gives a reason for each forwarded key. A test compares this list with it.
 */
export const ENGINE_CONTROL_KEYS = new Set([
  // Name a request, a session, a cache, a replica or another engine: they cross tenants, or have the engine connect somewhere.
  ...['cache_salt', 'extra_key', 'request_id', 'rid', 'session_params', 'priority', 'api_base'],
  ...['kv_transfer_params', 'ec_transfer_params', 'bootstrap_host', 'bootstrap_port', 'bootstrap_room'],
  ...['data_parallel_rank', 'routed_dp_rank', 'disagg_prefill_dp_rank', 'lora_path', 'custom_labels'],
  // Are code, templates, or input that was never checked.
  ...['chat_template', 'documents', 'logits_processors', 'custom_logit_processor', 'custom_params', 'vllm_xargs'],
  ...['prompt_embeds', 'input_ids', 'embed_overrides', 'embed_override_token_id', 'task', 'mm_payload'],
  ...['mm_processor_kwargs', 'media_io_kwargs', 'images_config', 'video_config', 'use_audio_in_video'],
  ...['max_dynamic_patch', 'min_dynamic_patch', 'watermark', 'watermarking'],
  // Cost more than the hold, or work in the loop that all calls share.
  ...['best_of', 'use_beam_search', 'padding', 'repetition_detection', 'stop_regex', 'regex', 'ebnf', 'json_schema'],
  // Keeps a stream silent while it costs.
  'stream_interval',
  // Ask for what no answer shows.
  ...['echo', 'prompt_logprobs', 'logprob_token_ids', 'sampling_logprobs_mode', 'return_token_ids'],
  ...['return_tokens_as_token_ids', 'return_token_offsets', 'return_prompt_text', 'return_prompt_token_ids'],
  ...['return_mm_kwargs', 'return_meta_info', 'return_hidden_states', 'return_sampling_mask'],
  ...['return_cached_tokens_details', 'return_spec_tokens_details', 'return_input_ids_in_sglext'],
  ...['return_output_ids_in_sglext', 'return_flat_raw_output_top_logprobs', 'return_flat_raw_top_logprobs_b64'],
  ...['return_routed_experts', 'routed_experts_start_len', 'routed_experts_prompt_start'],
]);
