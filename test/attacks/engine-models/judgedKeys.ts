import type { RequestOperation } from './engineModels.ts';

/**
 * The treatment of a key of a request's body that some engine knows.
 *
 * - `ours`: the router writes it, or keeps it to itself; the client's own never reaches an engine.
 * - `checked`: the router's schema knows it, and refuses other values.
 * - `forwarded`: unchanged. It concerns this call alone and costs no more than is held for it.
 * - `refused`: 400 with the key as `param`, whatever its value but null.
 */
export type Verdict = 'ours' | 'checked' | 'forwarded' | 'refused';

/** The danger of a refused key, if it is more than a setting of the call. */
type Danger =
  | 'address'
  | 'file'
  | 'template'
  | 'adapter'
  | 'cache'
  | 'code'
  | 'placement'
  | 'cost'
  | 'silence'
  | 'leak';

export interface Judgement {
  verdict: Verdict;
  why: string;
  danger?: Danger;
}

const ours = (why: string): Judgement => ({ verdict: 'ours', why });
const checked = (why = 'part of the contract'): Judgement => ({ verdict: 'checked', why });
const forwarded = (why: string): Judgement => ({ verdict: 'forwarded', why });
const refused = (danger: Danger, why: string): Judgement => ({ verdict: 'refused', danger, why });

const DRAWING = 'how tokens of this call are drawn';
const ENDING = 'when this call ends, within its `max_tokens`';
const WORDING = 'how tokens of this call become text';
const THINKING = 'how much this call thinks, within its `max_tokens`';
const LORA = 'names an adapter that the operator loaded for somebody else, or a path that is loaded';
const PLACE = 'places the call within the engine, which would answer from wherever it points, or fail';
const LEAK = 'puts of the engine’s inside into the answer';
const LOGPROBS = 'log probabilities are not served';
const SIZES = 'how images and videos are cut up, which is what they cost';
const NAME = 'names a call, or a cache, that may be another tenant’s';
const GRAMMAR = 'another form of `response_format`, and nobody of the public convention needs it';

/** Judgements for every operation whose request model knows the key. */
const EVERYWHERE: Record<string, Judgement> = {
  model: ours('the engine’s own name for the model; in SGLang `name:adapter` chooses an adapter'),
  stream: ours('set as checked'),
  stream_options: ours('the running usage is always asked for'),
  max_tokens: ours('as held'),
  max_completion_tokens: ours('as held, in `max_tokens`'),
  n: ours('one choice is held for'),
  logprobs: ours(LOGPROBS),
  top_logprobs: ours(LOGPROBS),
  user: ours('not passed to engines'),
  session_id: ours('not passed to engines; SGLang goes on from the prompt of the session named'),

  temperature: checked(),
  top_p: checked(),
  presence_penalty: checked(),
  frequency_penalty: checked(),
  stop: checked(),
  seed: checked(),

  top_k: forwarded(DRAWING),
  min_p: forwarded(DRAWING),
  repetition_penalty: forwarded(DRAWING),
  logit_bias: forwarded(`${DRAWING}; its size is bounded by the body’s values`),
  allowed_token_ids: forwarded(`${DRAWING}; its size is bounded by the body’s values`),
  bad_words: forwarded(`${DRAWING}; the engine takes 128 words of 1,024 tokens in all`),
  length_penalty: forwarded('read with beam search alone, which is refused'),
  min_tokens: forwarded(ENDING),
  ignore_eos: forwarded(ENDING),
  stop_token_ids: forwarded(ENDING),
  no_stop_trim: forwarded(WORDING),
  include_stop_str_in_output: forwarded(WORDING),
  skip_special_tokens: forwarded(WORDING),
  spaces_between_special_tokens: forwarded(WORDING),
  thinking_token_budget: forwarded(THINKING),
  reasoning_effort: forwarded(THINKING),
  truncate_prompt_tokens: forwarded('only ever shortens the prompt'),
  truncation_side: forwarded('only ever shortens the prompt'),
  add_special_tokens: forwarded('a token or two, within what is held for the template'),
  structured_outputs: forwarded(
    'what this call may say; the engine compiles it off its loop and refuses what it cannot',
  ),

  priority: refused('placement', 'goes before other tenants’ calls'),
  cache_salt: refused('cache', 'the router’s own stands there: it keeps workspaces’ caches apart'),
  request_id: refused('cache', NAME),
  rid: refused('cache', `${NAME}; SGLang aborts by it`),
  session_params: refused('cache', `${NAME}: SGLang goes on from the prompt of the session named`),
  extra_key: refused('cache', 'a name space of the prefix cache'),
  kv_transfer_params: refused('address', 'host and blocks of another engine’s cache, and a prompt past the template'),
  ec_transfer_params: refused('address', 'host of another engine’s cache of images'),
  bootstrap_host: refused('address', 'the engine connects to it'),
  bootstrap_port: refused('address', 'the engine connects to it'),
  bootstrap_room: refused('cache', 'whose cache is taken from there'),
  routed_dp_rank: refused('placement', PLACE),
  data_parallel_rank: refused('placement', PLACE),
  disagg_prefill_dp_rank: refused('placement', PLACE),
  lora_path: refused('adapter', LORA),
  chat_template: refused('template', 'a program that the engine runs over the prompt'),
  custom_logit_processor: refused('code', 'Python that the engine unpacks and runs'),
  custom_params: refused('code', 'arguments of such code'),
  vllm_xargs: refused('code', 'arguments of an operator’s extensions, and another way to the transfer parameters'),
  custom_labels: refused('leak', 'new series of the engine’s metrics'),
  mm_processor_kwargs: refused('cost', SIZES),
  media_io_kwargs: refused('cost', SIZES),
  images_config: refused('cost', SIZES),
  prompt_embeds: refused('cost', 'a tensor in place of a prompt, which nobody counted'),
  use_beam_search: refused('cost', 'several answers are made for one'),
  best_of: refused('cost', 'several answers are made for one'),
  echo: refused('leak', 'the prompt comes back as output, with its log probabilities'),
  prompt_logprobs: refused('cost', `${LOGPROBS}, and those of a prompt hold up the engine`),
  logprob_token_ids: refused('leak', LOGPROBS),
  sampling_logprobs_mode: refused('leak', LOGPROBS),
  return_tokens_as_token_ids: refused('leak', LOGPROBS),
  return_token_ids: refused('leak', LEAK),
  return_token_offsets: refused('leak', LEAK),
  return_mm_kwargs: refused('leak', LEAK),
  mm_payload: refused('leak', LEAK),
  routed_experts_prompt_start: refused('leak', LEAK),
  return_hidden_states: refused('leak', `${LEAK}, megabytes of it`),
  return_routed_experts: refused('leak', `${LEAK}, megabytes of it`),
  routed_experts_start_len: refused('leak', LEAK),
  return_cached_tokens_details: refused('leak', LEAK),
  return_spec_tokens_details: refused('leak', LEAK),
  watermark: refused('leak', 'the operator’s, with its key'),
  watermarking: refused('leak', 'the operator’s, to be switched off by nobody else'),
  repetition_detection: refused(
    'cost',
    'compares ever longer patterns after every token, in the loop that serves all calls',
  ),
  stop_regex: refused('cost', 'a pattern that may take for ever is run after every token, in the loop of all calls'),
  stream_interval: refused(
    'silence',
    'a stream that says nothing until its end: what it used is not known when it is left, and a silent one is free',
  ),
  regex: refused('cost', GRAMMAR),
  ebnf: refused('cost', GRAMMAR),
};

/** Judgements for one operation alone, or different there. */
const OF_OPERATION: Record<RequestOperation, Record<string, Judgement>> = {
  chat: {
    messages: checked(),
    tools: checked(),
    tool_choice: checked(),
    response_format: checked(),
    chat_template_kwargs: checked('`enable_thinking` alone: the rest are variables of the template'),
    parallel_tool_calls: forwarded('how many tools this call may call'),
    add_generation_prompt: forwarded('the end of this call’s prompt'),
    continue_final_message: forwarded('the end of this call’s prompt'),
    include_reasoning: checked(
      'true alone: without its reasoning a stream says nothing while it thinks, as with `stream_interval`',
    ),
    stream_reasoning: checked('true alone: see `include_reasoning`'),
    separate_reasoning: forwarded('whether reasoning stands in the text or beside it'),
    reasoning: forwarded('`effort` and `enabled` are read from it: how much this call thinks'),
    thinking: forwarded('`type` is read from it: how much this call thinks'),
    instruct: forwarded('read of requests for ranking alone'),
    documents: refused('template', 'texts that the template prints, past the bound of the prompt'),
    task: refused('template', 'a marker that the template adds'),
    input_ids: refused('cost', 'a prompt in place of the messages, which nobody counted'),
    return_prompt_text: refused('leak', 'the prompt as the operator’s template prints it'),
    return_prompt_token_ids: refused('leak', LEAK),
    return_meta_info: refused('leak', LEAK),
    return_input_ids_in_sglext: refused('leak', LEAK),
    return_output_ids_in_sglext: refused('leak', LEAK),
    return_sampling_mask: refused('leak', LEAK),
    return_flat_raw_output_top_logprobs: refused('leak', LOGPROBS),
    return_flat_raw_top_logprobs_b64: refused('leak', LOGPROBS),
    max_dynamic_patch: refused('cost', SIZES),
    min_dynamic_patch: refused('cost', SIZES),
    video_config: refused('cost', SIZES),
    use_audio_in_video: refused('cost', SIZES),
  },
  completions: {
    prompt: checked('one text: a list is several calls, or token ids that nobody counted'),
    suffix: checked(),
    response_format: checked('as on chat: a tag within it is a grammar of another kind'),
    json_schema: refused('cost', GRAMMAR),
  },
  embeddings: {
    input: checked('texts: an object is a message, or has the address of an image'),
    encoding_format: checked(),
    dimensions: checked(),
    messages: checked('refused: a conversation has images that the engine would fetch'),
    embed_dtype: forwarded('the form of this call’s vectors'),
    endianness: forwarded('the form of this call’s vectors'),
    use_activation: forwarded('the form of this call’s vectors'),
    add_generation_prompt: forwarded('read with `messages` alone'),
    continue_final_message: forwarded('read with `messages` alone'),
    chat_template_kwargs: checked('read with `messages` alone'),
    padding: refused('cost', 'fills a prompt up to the window, which was not held for'),
    embed_overrides: refused('cost', 'vectors in place of tokens, which nobody counted'),
    embed_override_token_id: refused('cost', 'see `embed_overrides`'),
  },
};

/** The judgement of a key of this operation's body; undefined if nobody has judged it. */
export const findJudgement = (operation: RequestOperation, key: string): Judgement | undefined =>
  OF_OPERATION[operation][key] ?? EVERYWHERE[key];

/** Every key that has been judged for an operation. */
export const judgedKeysOf = (operation: RequestOperation): string[] => [
  ...new Set([...Object.keys(EVERYWHERE), ...Object.keys(OF_OPERATION[operation])]),
];

/**
 * Keys that a request for counting tokens may have. The router writes such a request itself, so that all else an engine knows
 * there stays out of it.
 */
export const TOKENIZE_KEYS = ['model', 'messages', 'prompt', 'tools', 'chat_template_kwargs'];
