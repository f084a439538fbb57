import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import {
  errorEnvelopeSchema,
  flatErrorSchema,
  mediaBalanceSchema,
  noFormSchema,
  uploadTooLargeSchema,
} from '@turnpike/public-api/errorBodies';
import { JOB_ERROR_CODES } from '@turnpike/public-api/mediaJob';
import { createToWireError } from './mediaError.ts';
import type { MediaFault } from './mediaFault.ts';

const keysPageUrl = 'https://dashboard.example/keys';
const toWireError = createToWireError({ keysPageUrl });

function errorOf(fault: MediaFault) {
  const worded = toWireError(new ApiError(fault));
  if (!worded) throw new Error(`nobody words ${fault.kind}`);
  const { status, body, headers = {} } = worded;
  return { status, body: body as Record<string, unknown>, headers };
}

const NEVER_RETRY = { 'x-should-retry': 'false' };
const RATE_LIMIT = {
  limitRequests: 600,
  remainingRequests: 0,
  resetRequestsMs: 60_000,
  limitTokens: 1_000_000,
  remainingTokens: 1_000_000,
  resetTokensMs: 0,
};
const SHORTFALL = {
  maxUsageCostNanoUsd: 2_500_000_000n,
  remainingNanoUsd: 900_000_000n,
  keyRemainingNanoUsd: 1_000_000_000n,
  heldNanoUsd: 5n,
  limitedBy: 'key_budget' as const,
};

describe('a body that does not parse is 400', () => {
  it.each<MediaFault>([
    { kind: 'body_too_large', maxBytes: 1 },
    { kind: 'body_text_too_large', maxBytes: 1 },
    { kind: 'body_compressed' },
    { kind: 'body_not_json_type' },
    { kind: 'body_not_utf8' },
    { kind: 'body_not_json' },
    { kind: 'body_not_an_object' },
    { kind: 'body_too_deep', maxDepth: 1 },
    { kind: 'body_too_many_values', maxValues: 1 },
    { kind: 'body_too_many_fields', maxFields: 1 },
    { kind: 'body_object_too_large', maxFields: 1 },
    { kind: 'body_too_many_dear_keys', maxKeys: 1, param: null },
    { kind: 'body_key_repeated', param: 'n' },
    { kind: 'body_keys_unreadable' },
    { kind: 'body_too_slow', silenceMs: 1_000 },
    { kind: 'body_unfinished', wholeMs: 1_000 },
    { kind: 'body_aborted' },
    { kind: 'form_not_form_type' },
    { kind: 'form_malformed' },
    { kind: 'form_too_large', maxParts: 64, maxTextBytes: 1 },
  ])('%j', (fault) => {
    const { status, body } = errorOf(fault);
    expect({ status, error: flatErrorSchema.parse(body).error }).toEqual({ status: 400, error: 'malformed_body' });
  });
});

describe('a refusal by a limit says the limit', () => {
  it.each<[MediaFault, ...string[]]>([
    [{ kind: 'body_too_large', maxBytes: 1_048_577 }, '1048577 bytes'],
    [{ kind: 'body_too_large', maxBytes: 9, sentBytes: 12 }, 'The body has 12 bytes, more than the 9 allowed here.'],
    [{ kind: 'body_text_too_large', maxBytes: 1_048_577 }, '1048577 bytes'],
    [{ kind: 'body_too_deep', maxDepth: 61 }, '61 levels'],
    [{ kind: 'body_too_many_values', maxValues: 1_001 }, '1001 JSON values'],
    [{ kind: 'body_too_many_fields', maxFields: 101 }, '101 fields'],
    [{ kind: 'body_object_too_large', maxFields: 101 }, '101 fields'],
    [{ kind: 'body_too_many_dear_keys', maxKeys: 103, param: null }, '103 keys'],
    [{ kind: 'body_too_slow', silenceMs: 7_000 }, '7 s'],
    [{ kind: 'body_unfinished', wholeMs: 61_000 }, '61 s'],
    [{ kind: 'form_too_large', maxParts: 65, maxTextBytes: 1_025 }, '65 parts', '1025 bytes'],
    [{ kind: 'upload_too_large', maxBytes: 26_214_400, sentBytes: 26_214_401 }, '25 MiB'],
    [{ kind: 'look_ups_exceeded', of: 'key', perSecond: 53, retryAfterSeconds: 3 }, '53', '3 s'],
    [
      { kind: 'rate_limited', limiter: 'requests', retryAfterMs: 1_200, rateLimit: RATE_LIMIT },
      '600 requests per minute',
      '2 s',
    ],
    [{ kind: 'key_bound_reached', bound: 'queued_jobs', limit: 501, retryAfterSeconds: 9 }, '501 queued jobs', '9 s'],
    [
      { kind: 'key_bound_reached', bound: 'cancelled_runs', limit: 1_860_000, retryAfterSeconds: 9 },
      '31 minutes',
      '9 s',
    ],
    [
      { kind: 'key_bound_reached', bound: 'refused_recordings', limit: 11_000, retryAfterSeconds: 9 },
      '11 s a minute',
      '9 s',
    ],
    [{ kind: 'insufficient_balance', ...SHORTFALL }, '2.5', '0.9'],
  ])('%j', (fault, ...limits) => {
    const { body } = errorOf(fault);
    for (const limit of limits) expect(body.message).toContain(limit);
  });
});

describe('a field that fails is 422 with its param', () => {
  it.each<[MediaFault, object]>([
    [
      { kind: 'invalid_request', message: 'n must be at most 4', param: 'n' },
      { message: 'n must be at most 4', param: 'n' },
    ],
    [
      { kind: 'invalid_request', message: 'A part may not be a file', param: null },
      { message: 'A part may not be a file' },
    ],
    [
      { kind: 'body_text_unsendable', has: 'a NUL character', param: 'prompt' },
      { message: 'prompt holds a NUL character, which no text may.', param: 'prompt' },
    ],
    [
      { kind: 'backend_refused', param: 'size' },
      { message: 'The model does not take this size. Nothing was charged.', param: 'size' },
    ],
  ])('%j', (fault, fields) => {
    expect(errorOf(fault)).toEqual({ status: 422, body: { error: 'invalid_request_body', ...fields }, headers: {} });
  });

  it('an upload of a wrong content type, with its explanation in message and detail', () => {
    const { status, body } = errorOf({ kind: 'upload_not_form_type' });
    expect(status).toBe(422);
    expect(noFormSchema.parse(body)).toEqual({
      error: 'invalid_request_body',
      message: expect.any(String),
      detail: expect.any(String),
    });
  });
});

describe('413 reports max_size_mb', () => {
  it('with a message where the length was announced', () => {
    const { status, body } = errorOf({ kind: 'upload_too_large', maxBytes: 26_214_400, sentBytes: 26_214_401 });
    expect(status).toBe(413);
    expect(uploadTooLargeSchema.parse(body)).toEqual({
      error: 'file_too_large',
      message: 'The upload has 26214401 bytes, more than the 25 MiB allowed. Send it compressed, or in parts.',
      max_size_mb: 25,
    });
  });

  it('and without one where it showed while reading', () => {
    expect(errorOf({ kind: 'upload_too_large', maxBytes: 26_214_400, sentBytes: undefined })).toEqual({
      status: 413,
      body: { error: 'file_too_large', max_size_mb: 25 },
      headers: { 'x-error-message': expect.stringContaining('25 MiB') },
    });
  });
});

describe('a key', () => {
  it.each<[MediaFault, string]>([
    [{ kind: 'missing_authorization' }, 'missing_api_key'],
    [{ kind: 'malformed_authorization' }, 'missing_api_key'],
    [{ kind: 'invalid_api_key' }, 'invalid_api_key'],
  ])('%j is a flat 401 with doc_url', (fault, error) => {
    expect(errorOf(fault)).toEqual({
      status: 401,
      body: { error, message: expect.any(String), doc_url: keysPageUrl },
      headers: {},
    });
  });

  it.each<[MediaFault, string]>([
    [{ kind: 'region_not_served' }, 'region_not_served'],
    [{ kind: 'key_blocked' }, 'key_blocked'],
  ])('%j is 403 with a plain envelope', (fault, code) => {
    const { status, body, headers } = errorOf(fault);
    expect({ status, headers }).toEqual({ status: 403, headers: NEVER_RETRY });
    expect(errorEnvelopeSchema.parse(body).error).toMatchObject({ code });
  });

  it('that cannot be checked is a flat 503', () => {
    expect(errorOf({ kind: 'auth_unavailable' })).toMatchObject({
      status: 503,
      body: { error: 'auth_service_unavailable' },
      headers: { 'retry-after': '1' },
    });
  });
});

describe('402 is flat, told apart by its message', () => {
  const faults: MediaFault[] = [
    { kind: 'account_on_hold' },
    { kind: 'billing_not_provisioned' },
    { kind: 'spend_cap_reached' },
    { kind: 'insufficient_balance', ...SHORTFALL },
  ];

  it('by code and by sentence', () => {
    const errors = faults.map(errorOf);
    for (const { status, body, headers } of errors) {
      expect({ status, headers }).toEqual({ status: 402, headers: NEVER_RETRY });
      expect(body).toMatchObject({ error: expect.any(String), message: expect.any(String), doc_url: keysPageUrl });
    }
    expect(errors.map(({ body }) => body.error)).toEqual(faults.map(({ kind }) => kind));
    expect(new Set(errors.map(({ body }) => body.message)).size).toBe(faults.length);
  });

  it('says what the request could cost, and what is left', () => {
    const { body } = errorOf({ kind: 'insufficient_balance', ...SHORTFALL });
    expect(mediaBalanceSchema.parse(body)).toMatchObject({
      max_usage_cost_usd: 2.5,
      remaining_usd: 0.9,
      key_remaining_usd: 1,
      held_usd: 5e-9,
      limited_by: 'key_budget',
    });
  });
});

it('429 is flat, with the headers of the key’s limits', () => {
  const fault: MediaFault = { kind: 'rate_limited', limiter: 'requests', retryAfterMs: 1_200, rateLimit: RATE_LIMIT };
  const { status, body, headers } = errorOf(fault);
  expect(status).toBe(429);
  expect(flatErrorSchema.parse(body)).toMatchObject({ error: 'rate_limit_exceeded', doc_url: keysPageUrl });
  expect(headers).toMatchObject({ 'retry-after': '2', 'x-ratelimit-reset-requests': '60s' });
  expect(errorOf({ kind: 'look_ups_exceeded', of: 'key', perSecond: 50, retryAfterSeconds: 1 })).toMatchObject({
    status: 429,
    body: { error: 'rate_limit_exceeded', doc_url: keysPageUrl },
    headers: { 'retry-after': '1' },
  });
});

describe('404', () => {
  it('of a model has an envelope', () => {
    const { status, body, headers } = errorOf({ kind: 'model_not_found' });
    expect({ status, headers }).toEqual({ status: 404, headers: NEVER_RETRY });
    expect(errorEnvelopeSchema.parse(body).error).toMatchObject({ code: 'model_not_found', param: 'model' });
  });

  it('of a job is flat', () => {
    const { status, body } = errorOf({ kind: 'job_not_found' });
    expect({ status, error: flatErrorSchema.parse(body).error }).toEqual({ status: 404, error: 'job_not_found' });
  });
});

it('a model without a price is 500 pricing_unavailable, and may be tried again', () => {
  const { status, body, headers } = errorOf({ kind: 'pricing_unavailable', model: 'flux' });
  expect({ status, headers, error: body.error }).toEqual({ status: 500, headers: {}, error: 'pricing_unavailable' });
});

describe('503 that ran nothing says when to come again', () => {
  it.each<[MediaFault, string, string]>([
    [{ kind: 'backend_unavailable', retryAfterSeconds: 7 }, 'backend_unavailable', '7'],
    [{ kind: 'transcode_overloaded', retryAfterSeconds: 3 }, 'transcode_overloaded', '3'],
    [{ kind: 'no_room_for_body' }, 'service_unavailable', '1'],
    [{ kind: 'key_bound_reached', bound: 'body_memory', retryAfterSeconds: 2 }, 'service_unavailable', '2'],
    [{ kind: 'admission_unavailable' }, 'service_unavailable', '1'],
    [{ kind: 'catalog_unavailable' }, 'service_unavailable', '1'],
    [{ kind: 'jobs_unavailable' }, 'service_unavailable', '1'],
    [{ kind: 'storage_unavailable' }, 'service_unavailable', '1'],
  ])('%j', (fault, error, wait) => {
    const { status, body, headers } = errorOf(fault);
    expect({ status, headers, error: flatErrorSchema.parse(body).error }).toEqual({
      status: 503,
      headers: { 'retry-after': wait },
      error,
    });
  });
});

describe('what was begun, or is switched off, is not to be tried again', () => {
  it.each<[MediaFault, number, string]>([
    [{ kind: 'model_disabled', model: 'flux' }, 503, 'model_deactivated'],
    [{ kind: 'backend_failed' }, 500, 'generation_failed'],
    [{ kind: 'job_failed', code: 'generation_failed' }, 500, 'generation_failed'],
    [{ kind: 'job_failed', code: 'invalid_output' }, 500, 'invalid_output'],
    [{ kind: 'job_failed', code: 'timed_out' }, 500, 'timed_out'],
    [{ kind: 'job_failed', code: 'backend_lost' }, 500, 'backend_lost'],
    [{ kind: 'job_failed', code: 'queue_timeout' }, 503, 'backend_unavailable'],
    [{ kind: 'job_failed', code: 'storage_unavailable' }, 503, 'service_unavailable'],
    [{ kind: 'job_failed', code: 'model_deactivated' }, 503, 'model_deactivated'],
    [{ kind: 'job_failed', code: 'content_refused' }, 400, 'content_refused'],
    [{ kind: 'content_refused' }, 400, 'content_refused'],
  ])('%j', (fault, status, error) => {
    const worded = errorOf(fault);
    expect({ ...worded, body: flatErrorSchema.parse(worded.body).error }).toEqual({
      status,
      headers: NEVER_RETRY,
      body: error,
    });
  });

  it('whichever way a job failed', () => {
    for (const code of JOB_ERROR_CODES)
      expect(errorOf({ kind: 'job_failed', code })).toMatchObject({ headers: NEVER_RETRY });
  });
});

it('words nothing that is no fault of this family', () => {
  expect(toWireError(new Error('x'))).toBeUndefined();
  expect(toWireError(new ApiError({ kind: 'of_somebody_else' }))).toBeUndefined();
});
