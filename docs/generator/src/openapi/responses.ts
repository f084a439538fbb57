import { type HeaderName, KEY_LIMIT_HEADERS } from '@turnpike/public-api/headers';
import { type Header, toHeaders } from './headers.ts';
import type { JsonSchema } from './jsonSchema.ts';
import { refTo, type SchemaName } from './jsonSchemas.ts';

/** One of the sets of headers that answers of a status come with. */
export interface HeaderSet {
  description: string;
  required: HeaderName[];
  absent: HeaderName[];
}

export interface ResponseObject {
  description: string;
  headers: Record<string, Header>;
  content: Record<string, { schema: JsonSchema; example?: unknown; examples?: Record<string, { value: unknown }> }>;
  /** Where a status has several causes: an answer has the headers of exactly one. */
  'x-header-sets'?: HeaderSet[];
}

interface ErrorAnswer {
  description: string;
  bodies: SchemaName[];
  examples: Record<string, unknown>;
  always?: HeaderName[];
  sometimes?: HeaderName[];
  sets?: HeaderSet[];
}

/** An error answer: a JSON body of one of the given shapes. */
function toErrorResponse({ description, bodies, examples, sets, ...headers }: ErrorAnswer): ResponseObject {
  const [body, ...others] = bodies.map(refTo);
  const schema = others.length === 0 && body ? body : { anyOf: bodies.map(refTo) };
  const named = Object.entries(examples).map(([name, value]) => [name, { value }] as const);
  return {
    description,
    headers: toHeaders(headers),
    content: { 'application/json': { schema, examples: Object.fromEntries(named) } },
    ...(sets && { 'x-header-sets': sets }),
  };
}

const envelope = (message: string, type: string | null, code: string | null, param: string | null = null) => ({
  error: { message, type, param, code },
});
const rejection = (status: string, code: string, fields: object) => ({
  error: {
    message: code,
    type: 'None',
    param: 'None',
    code: status,
    provider_specific_fields: { error: code, ...fields },
  },
});
const flat = (error: string, message: string) => ({ error, message });

const KEY_IS_WRONG = {
  error: {
    message: 'The API key is not valid here.',
    type: 'authentication_error',
    param: null,
    code: 'invalid_api_key',
    doc_url: 'https://turnpike.example/docs/keys',
  },
};
const FLOODED = envelope(
  'Too many requests from this address. Wait for the seconds in x-ratelimit-reset.',
  'rate_limit_error',
  'rate_limit_exceeded',
);
const UNAVAILABLE = envelope(
  'The model has no free capacity right now. Nothing was charged. Retry with backoff.',
  'service_unavailable',
  'service_unavailable',
);
const KEYS_UNCHECKED = {
  error: {
    message: 'API keys cannot be checked right now. Retry with backoff.',
    type: 'service_unavailable',
    code: 'auth_service_unavailable',
  },
};

const FLOOD: HeaderSet = {
  description: 'The flood limit per address, which is far above normal use and comes before the API.',
  required: ['x-ratelimit-reset'],
  absent: ['retry-after', 'x-router-call-id', ...KEY_LIMIT_HEADERS],
};
const CALL_HEADERS: HeaderName[] = ['x-router-call-id', ...KEY_LIMIT_HEADERS];

/** Error answers that several operations share, by the name they have among the document's components. */
export const SHARED_RESPONSES = {
  AuthUnreachable: toErrorResponse({
    description: 'Something inside could not be asked, or answered unusably. Always safe to retry, with backoff.',
    bodies: ['BareError'],
    examples: { unreachable: { detail: 'upstream router unavailable' } },
  }),
  InferenceBalance: toErrorResponse({
    description:
      'The worst case of the request fits no balance, or the account cannot pay now. Nothing ran. Told apart by `message`; after a top-up the same key works again.',
    bodies: ['InsufficientBalance', 'AccountRefused'],
    examples: {
      insufficient_balance: rejection('402', 'insufficient_balance', {
        message: 'What this request could cost at most does not fit the remaining balance.',
        max_usage_cost_usd: 0.0123,
        key_remaining_usd: 0.01,
        held_usd: 0,
        limited_by: 'key_budget',
        affordable_output_tokens: 412,
      }),
      spend_cap_reached: rejection('402', 'spend_cap_reached', { message: 'The monthly spend cap is reached.' }),
    },
    always: ['x-router-call-id', 'x-should-retry'],
    sometimes: KEY_LIMIT_HEADERS,
  }),
  InferenceFailure: toErrorResponse({
    description: 'The engine or the gateway failed. Nothing was charged.',
    bodies: ['ErrorEnvelope'],
    examples: {
      failed: envelope('The model failed to answer. Nothing was charged.', 'server_error', 'internal_error'),
    },
    sometimes: ['x-should-retry', ...CALL_HEADERS],
  }),
  InferenceForbidden: toErrorResponse({
    description: 'The key is blocked by an administrator, or its organization belongs to another region.',
    bodies: ['RegionNotServed', 'ErrorEnvelope'],
    examples: {
      key_blocked: envelope('This API key is blocked by an administrator.', 'permission_error', 'key_blocked'),
      region_not_served: rejection('403', 'region_not_served', {
        message: 'The organization of this key is pinned to a region that this host does not serve.',
      }),
    },
    always: ['x-should-retry'],
    sometimes: ['x-router-call-id'],
  }),
  InferenceInvalid: toErrorResponse({
    description:
      'The request is malformed, or holds a value that cannot be served: `param` names it where it is known. The same request fails again.',
    bodies: ['ErrorEnvelope'],
    examples: {
      field: envelope('n must be 1: only one choice is returned', 'invalid_request_error', null, 'n'),
      context: envelope(
        'ContextWindowExceededError: This model’s maximum context length is 8192 tokens.',
        null,
        'context_length_exceeded',
      ),
    },
    sometimes: CALL_HEADERS,
  }),
  InferenceThrottled: toErrorResponse({
    description:
      'The key’s requests or tokens of this minute are used up, too much of what it sends is malformed, or too many wrong keys are tried from the address; or the flood limit, which has other headers.',
    bodies: ['ErrorEnvelope'],
    examples: {
      key: envelope(
        'The key’s requests per minute are used up. Wait as long as Retry-After says.',
        'rate_limit_error',
        'rate_limit_exceeded',
      ),
      flood: FLOODED,
    },
    sometimes: ['retry-after', 'x-ratelimit-reset', ...CALL_HEADERS],
    sets: [
      {
        description: 'A limit of the key.',
        required: ['retry-after', ...CALL_HEADERS],
        absent: ['x-ratelimit-reset'],
      },
      {
        description: 'Too much of what the key sends is malformed.',
        required: ['retry-after', 'x-router-call-id'],
        absent: ['x-ratelimit-reset', ...KEY_LIMIT_HEADERS],
      },
      FLOOD,
    ],
  }),
  InferenceUnavailable: toErrorResponse({
    description:
      'Something needed is not there now: retry with backoff. With `code` `model_deactivated` the model is switched off: use another.',
    bodies: ['ErrorEnvelope'],
    examples: {
      busy: UNAVAILABLE,
      disabled: envelope(
        'It is switched off by an administrator.',
        'service_unavailable',
        'model_deactivated',
        'model',
      ),
    },
    sometimes: ['retry-after', 'x-should-retry', ...CALL_HEADERS],
  }),
  InferenceUnauthorized: toErrorResponse({
    description: 'The key is missing, mistyped, revoked, expired, or of another region’s host.',
    bodies: ['ErrorEnvelope'],
    examples: { invalid: KEY_IS_WRONG },
    // A key that was revoked a moment ago may be refused only when the call is admitted.
    sometimes: ['x-router-call-id'],
  }),
  InferenceUnknownModel: toErrorResponse({
    description: 'No such model in this region; or, as a plain envelope, one without capacity here.',
    bodies: ['UnknownModel', 'ErrorEnvelope'],
    examples: {
      unknown: rejection('404', 'unknown_model', { message: 'No such model here.', did_you_mean: ['qwen3-32b'] }),
      no_capacity: envelope('It has no capacity here.', 'invalid_request_error', 'model_deactivated', 'model'),
    },
    always: ['x-router-call-id', 'x-should-retry'],
  }),
  KeyUnavailable: toErrorResponse({
    description: 'Keys cannot be looked up right now. Retry with backoff.',
    bodies: ['FlatError', 'ErrorEnvelope'],
    examples: {
      busy: flat('service_unavailable', 'Too many keys are looked up at once. Retry with backoff.'),
      unchecked: KEYS_UNCHECKED,
    },
    sometimes: ['retry-after'],
  }),
  KeysUnchecked: toErrorResponse({
    description: 'Keys cannot be checked right now. Retry with backoff.',
    bodies: ['ErrorEnvelope'],
    examples: { unchecked: KEYS_UNCHECKED },
    sometimes: ['retry-after'],
  }),
  LookUpThrottled: toErrorResponse({
    description: 'The key looks up more a second than one key may (a flat body); or the flood limit (an envelope).',
    bodies: ['FlatError', 'ErrorEnvelope'],
    examples: {
      key: flat('rate_limit_exceeded', 'This key looks up more a second than one key may.'),
      flood: FLOODED,
    },
    sometimes: ['retry-after', 'x-ratelimit-reset'],
    sets: [
      {
        description: 'The limit of look-ups.',
        required: ['retry-after'],
        absent: ['x-ratelimit-reset', ...KEY_LIMIT_HEADERS],
      },
      FLOOD,
    ],
  }),
  LookUpUnauthorized: toErrorResponse({
    description: 'There is no key in the request (a flat body), or it is not valid here (an envelope).',
    bodies: ['FlatError', 'ErrorEnvelope'],
    examples: {
      missing: flat('missing_authorization', 'Send your API key in the Authorization header.'),
      invalid: KEY_IS_WRONG,
    },
  }),
  MethodNotAllowed: toErrorResponse({
    description: 'The path is known; another method was used.',
    bodies: ['ErrorEnvelope'],
    examples: {
      method: envelope('PUT is not supported here; use GET.', 'invalid_request_error', 'method_not_allowed'),
    },
    always: ['allow'],
  }),
  ModelsForbidden: toErrorResponse({
    description: 'The key is blocked by an administrator, or its organization belongs to another region.',
    bodies: ['ErrorEnvelope'],
    examples: { blocked: { error: { message: 'This API key is blocked by an administrator.', type: 'auth' } } },
    always: ['x-should-retry'],
  }),
  ModelsThrottled: toErrorResponse({
    description: 'The list is asked for too often, by this key, this address or by all; or the flood limit.',
    bodies: ['ErrorEnvelope'],
    examples: {
      list: { error: { message: 'The model list is asked for too often.', type: 'rate_limit' } },
      flood: FLOODED,
    },
    sometimes: ['retry-after', 'x-ratelimit-reset'],
    sets: [
      {
        description: 'The model list’s own limits.',
        required: ['retry-after'],
        absent: ['x-ratelimit-reset', ...KEY_LIMIT_HEADERS],
      },
      FLOOD,
    ],
  }),
  ModelsUnauthorized: toErrorResponse({
    description: 'The key is missing, mistyped, revoked, expired, or of another region’s host.',
    bodies: ['ErrorEnvelope'],
    examples: { invalid: { error: { message: 'The API key is not valid here.', type: 'auth' } } },
  }),
  NotFound: toErrorResponse({
    description: 'There is nothing at this path: every path that this document does not list.',
    bodies: ['ErrorEnvelope'],
    examples: {
      unlisted: envelope('There is nothing at this path.', 'invalid_request_error', 'not_found'),
      unsupported: envelope(
        'This service does not support files. Send what they hold within the request.',
        'invalid_request_error',
        'unsupported_endpoint',
      ),
    },
    always: ['x-should-retry'],
  }),
  UsageInvalid: toErrorResponse({
    description: 'A parameter cannot be served: `param` names it.',
    bodies: ['FlatError'],
    examples: { range: { ...flat('invalid_request', 'end must lie after start'), param: 'end' } },
  }),
  UsageNotFound: toErrorResponse({
    description: 'No such call of this key: an unknown id, one of another key, or a record that is not written yet.',
    bodies: ['FlatError'],
    examples: { unknown: flat('usage_not_found', 'There is no such request of this key.') },
  }),
  UsageTimeout: toErrorResponse({
    description: 'The query took too long. Narrow the span, and retry; that is safe.',
    bodies: ['ErrorEnvelope'],
    examples: {
      timeout: {
        error: {
          message: 'The usage query took too long. Retry shortly.',
          type: 'gateway_timeout',
          code: 'usage_timeout',
        },
      },
    },
    sometimes: ['retry-after'],
  }),
  UsageUnavailable: toErrorResponse({
    description: 'Usage, or the key, cannot be looked up right now. Retry with backoff.',
    bodies: ['FlatError', 'ErrorEnvelope'],
    examples: {
      ledger: flat('service_unavailable', 'Usage cannot be looked up right now. Retry with backoff.'),
      keys: KEYS_UNCHECKED,
    },
    sometimes: ['retry-after'],
  }),
};

export type SharedResponse = keyof typeof SHARED_RESPONSES;
