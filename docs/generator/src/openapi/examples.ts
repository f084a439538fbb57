const CALL = { id: 'chatcmpl-01979f5e', created: 1_790_000_000, model: 'llama-3.3-70b-instruct' };
const USAGE = {
  prompt_tokens: 18,
  completion_tokens: 6,
  total_tokens: 24,
  prompt_tokens_details: { cached_tokens: 16 },
  completion_tokens_details: { reasoning_tokens: 0 },
  cache_read_input_tokens: 16,
  cache_creation_input_tokens: 2,
};
const SUMS = {
  requests: 12,
  success: 11,
  failure: 1,
  unknown: 0,
  prompt_tokens: 2_400,
  completion_tokens: 910,
  total_tokens: 3_310,
  cache_read_input_tokens: 1_600,
  units_consumed: null,
  total_spend: 0.001234567,
};
const MODEL = {
  id: 'llama-3.3-70b-instruct',
  object: 'model',
  created: 1_733_443_200,
  owned_by: 'turnpike',
  hugging_face_id: 'meta-llama/Llama-3.3-70B-Instruct',
  aliases: ['llama-3.3-70b'],
  name: 'Llama 3.3 70B Instruct',
  category: 'text',
  input_modalities: ['text'],
  output_modalities: ['text'],
  quantization: 'fp8',
  context_length: 131_072,
  max_output_length: 16_384,
  pricing: {
    prompt: '0.0000004',
    completion: '0.0000008',
    input_cache_read: '0.0000001',
    request: '0',
    image: '0',
    web_search: '0',
    internal_reasoning: '0',
  },
  is_free: false,
  is_ready: true,
  supported_features: ['tools', 'tool_use', 'json_mode'],
  supported_parameters: ['temperature', 'top_p', 'stop', 'seed', 'max_tokens', 'tools', 'tool_choice'],
  supported_sampling_parameters: ['temperature', 'top_p', 'stop', 'seed'],
};
const toEvents = (...events: (object | string)[]): string =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');
const choice = (rest: object, finishReason: string | null) => ({
  index: 0,
  ...rest,
  logprobs: null,
  finish_reason: finishReason,
});

/** One example of each body, by the operation's id. Every one is checked against its schema. */
export const EXAMPLES = {
  createChatCompletion: {
    request: {
      model: CALL.model,
      messages: [{ role: 'user', content: 'Say hello in one word.' }],
      max_tokens: 16,
    },
    answer: {
      ...CALL,
      object: 'chat.completion',
      choices: [choice({ message: { role: 'assistant', content: 'Hello.', refusal: null } }, 'stop')],
      usage: USAGE,
    },
    events: toEvents(
      {
        ...CALL,
        object: 'chat.completion.chunk',
        choices: [choice({ delta: { role: 'assistant', content: '' } }, null)],
      },
      { ...CALL, object: 'chat.completion.chunk', choices: [choice({ delta: { content: 'Hello.' } }, null)] },
      { ...CALL, object: 'chat.completion.chunk', choices: [choice({ delta: {} }, 'stop')] },
      '[DONE]',
    ),
  },
  createCompletion: {
    request: { model: CALL.model, prompt: 'Once upon a time', max_tokens: 16 },
    answer: { ...CALL, object: 'text_completion', choices: [choice({ text: ', in a land' }, 'length')], usage: USAGE },
    events: toEvents(
      { ...CALL, object: 'text_completion', choices: [choice({ text: ', in a land' }, null)] },
      { ...CALL, object: 'text_completion', choices: [choice({ text: '' }, 'length')] },
      '[DONE]',
    ),
  },
  createEmbedding: {
    request: { model: 'multilingual-embeddings', input: ['Où est le café ?'] },
    answer: {
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: [0.0123, -0.0456] }],
      model: 'multilingual-embeddings',
      usage: { prompt_tokens: 6, total_tokens: 6 },
    },
  },
  listModels: { answer: { object: 'list', data: [MODEL] } },
  getModel: { answer: MODEL },
  getKey: {
    answer: {
      object: 'key',
      currency: 'USD',
      key_name: 'sk-...wxyz',
      spend_usd: 1.234567891,
      max_budget_usd: 10,
      remaining_budget_usd: 8.765432109,
      rate_limit: { rpm: 600, tpm: 1_000_000 },
      expires_at: null,
      generated_at: '2026-11-21T10:00:00.000Z',
    },
  },
  getUsage: {
    answer: {
      object: 'usage',
      currency: 'USD',
      start: '2026-11-01T00:00:00.000Z',
      end: '2026-12-01T00:00:00.000Z',
      totals: SUMS,
      data: [{ model: CALL.model, ...SUMS }],
      generated_at: '2026-11-21T10:00:00.000Z',
    },
  },
  getUsageRequest: {
    answer: {
      object: 'usage.request',
      currency: 'USD',
      request_id: '01979f5e-7c1a-7b60-9d0e-5a4f3b2c1d0e',
      model: 'llama-3.3-70b-instruct',
      canonical_model: CALL.model,
      status: 'success',
      prompt_tokens: 18,
      completion_tokens: 6,
      total_tokens: 24,
      total_spend: 0.0000072,
      modality: 'text',
      units_consumed: null,
      billing_unit: 'token',
      started_at: '2026-11-21T09:59:58.120Z',
      ended_at: '2026-11-21T09:59:58.640Z',
      generated_at: '2026-11-21T10:00:00.000Z',
    },
  },
};
