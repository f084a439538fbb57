import { expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { createToWireError } from './inferenceError.ts';
import type { InferenceFault } from './inferenceFault.ts';

const keysPageUrl = 'https://dashboard.example/keys';
const toWireError = createToWireError({ keysPageUrl });
const errorOf = (fault: InferenceFault) => {
  const { status, body, headers = {} } = toWireError(new ApiError(fault)) ?? { status: 0, body: {} };
  return { status, headers, error: (body as { error: Record<string, unknown> }).error };
};

it.each<[InferenceFault, string, string | null]>([
  [{ kind: 'body_not_json' }, 'The body is not valid JSON.', null],
  [
    { kind: 'body_keys_unreadable' },
    'A key of the body cannot be read: it has an escaped control character. Send it without.',
    null,
  ],
  [
    { kind: 'body_too_many_dear_keys', maxKeys: 8_192, param: 'metadata' },
    'The body has more than 8192 keys that begin with a digit or hold an escape.',
    'metadata',
  ],
  [
    { kind: 'body_text_unsendable', has: 'a NUL character', param: 'messages[0].content' },
    'messages[0].content holds a NUL character, which no text may.',
    'messages[0].content',
  ],
  [
    { kind: 'body_text_unsendable', has: 'half a surrogate pair', param: null },
    'The body holds half a surrogate pair, which no text may.',
    null,
  ],
  [{ kind: 'body_too_large', maxBytes: 9 }, 'The body is larger than the 9 bytes allowed here.', null],
  [
    { kind: 'body_too_large', maxBytes: 9, sentBytes: 12 },
    'The body has 12 bytes, more than the 9 allowed here.',
    null,
  ],
  [{ kind: 'body_text_too_large', maxBytes: 9 }, 'The body holds more than 9 bytes outside inline images.', null],
  [
    { kind: 'body_compressed' },
    'Compressed bodies are not accepted. Send the JSON as it is, without Content-Encoding.',
    null,
  ],
  [{ kind: 'body_not_json_type' }, 'Send a JSON body with Content-Type: application/json.', null],
  [{ kind: 'body_not_utf8' }, 'The body is not valid UTF-8.', null],
  [{ kind: 'body_not_an_object' }, 'The body must be a JSON object.', null],
  [{ kind: 'body_too_deep', maxDepth: 9 }, 'The body is nested deeper than 9 levels.', null],
  [{ kind: 'body_too_many_values', maxValues: 9 }, 'The body holds more than 9 JSON values.', null],
  [{ kind: 'body_too_many_fields', maxFields: 9 }, 'The body has more than 9 fields.', null],
  [{ kind: 'body_object_too_large', maxFields: 9 }, 'An object within the body has more than 9 fields.', null],
  [{ kind: 'body_key_repeated', param: 'n' }, 'A key stands twice in one object: n.', 'n'],
  [{ kind: 'body_too_slow', silenceMs: 9_000 }, 'Nothing more of the body came for 9 s.', null],
  [{ kind: 'body_unfinished', wholeMs: 9_000 }, 'The body was not whole after 9 s.', null],
  [{ kind: 'body_aborted' }, 'The body ended before it was whole.', null],
  [{ kind: 'invalid_request', message: 'n must be 1', param: 'n' }, 'n must be 1', 'n'],
])('%j is a 400 of the validation family: %s', (fault, message, param) => {
  expect(errorOf(fault)).toEqual({
    status: 400,
    headers: {},
    error: { message, type: 'invalid_request_error', param, code: null },
  });
});

const RATE_LIMIT = {
  limitRequests: 1,
  remainingRequests: 0,
  resetRequestsMs: 1,
  limitTokens: 1,
  remainingTokens: 0,
  resetTokensMs: 1,
};
it.each<InferenceFault>([
  { kind: 'account_on_hold' },
  { kind: 'billing_not_provisioned' },
  { kind: 'spend_cap_reached' },
  {
    kind: 'insufficient_balance',
    maxUsageCostNanoUsd: 2n,
    remainingNanoUsd: 1n,
    keyRemainingNanoUsd: null,
    heldNanoUsd: 0n,
    limitedBy: 'credit',
    affordableOutputTokens: 0,
  },
])('%j says among its specific fields where to read on', (fault) => {
  const { status, error } = errorOf(fault);
  expect(status).toBe(402);
  expect(error.provider_specific_fields).toMatchObject({ doc_url: keysPageUrl });
  expect(error).not.toHaveProperty('doc_url');
});
it.each<InferenceFault>([
  { kind: 'rate_limited', limiter: 'requests', retryAfterMs: 1, rateLimit: RATE_LIMIT },
  { kind: 'rate_limited', limiter: 'tokens', retryAfterMs: 1, rateLimit: RATE_LIMIT },
  { kind: 'key_bound_reached', bound: 'refused_bodies', retryAfterSeconds: 1 },
  { kind: 'key_bound_reached', bound: 'token_counts', retryAfterSeconds: 1, limit: 8_388_608 },
])('%j is a 429 of the key, which says where to read on', (fault) => {
  expect(errorOf(fault)).toMatchObject({ status: 429, error: { doc_url: keysPageUrl } });
});

/** The usual clients retry by themselves: what would only fail again says so. */
it.each<[number, InferenceFault]>([
  [402, { kind: 'account_on_hold' }],
  [402, { kind: 'billing_not_provisioned' }],
  [402, { kind: 'spend_cap_reached' }],
  [
    402,
    {
      kind: 'insufficient_balance',
      maxUsageCostNanoUsd: 2n,
      remainingNanoUsd: 1n,
      keyRemainingNanoUsd: 1n,
      heldNanoUsd: 0n,
      limitedBy: 'credit',
      affordableOutputTokens: 0,
    },
  ],
  [403, { kind: 'key_blocked' }],
  [403, { kind: 'region_not_served' }],
  [404, { kind: 'unknown_model', didYouMean: [] }],
  [404, { kind: 'model_without_capacity', model: 'm' }],
  [503, { kind: 'model_disabled', model: 'm' }],
  [500, { kind: 'engine_failed' }],
])('%i %j tells clients not to retry', (status, fault) => {
  expect(errorOf(fault)).toMatchObject({ status, headers: { 'x-should-retry': 'false' } });
});

it.each<[number, InferenceFault]>([
  [503, { kind: 'admission_unavailable' }],
  [503, { kind: 'no_healthy_engine' }],
  [503, { kind: 'engine_busy' }],
  [503, { kind: 'catalog_unavailable' }],
  [503, { kind: 'no_room_for_body' }],
  [503, { kind: 'key_bound_reached', bound: 'body_memory', retryAfterSeconds: 1 }],
  [503, { kind: 'no_room_for_answer' }],
  [503, { kind: 'auth_unavailable' }],
])('%i %j may be retried after a second', (status, fault) => {
  const { headers, ...answer } = errorOf(fault);
  expect(answer.status).toBe(status);
  expect(headers).toEqual({ 'retry-after': '1' });
});

it.each([
  ['counted', 40, true, 'prompt is too long: 40 tokens > 31 maximum'],
  ['estimated within the window', 20, false, expect.stringContaining('ContextWindowExceededError: Too long.')],
])(
  'says that a prompt alone is too long as agents of the Messages API know it: %s',
  (_case, tokens, isCounted, message) => {
    const prompt = { tokens, isCounted, outputTokens: 1 };
    const window = { model: 'm', windowTokens: 32, prompt, isOutputFitted: true };
    expect(errorOf({ kind: 'context_too_long', message: 'Too long.', window }).error).toMatchObject({
      message,
      code: 'context_length_exceeded',
    });
  },
);
