import { toInternalError, toMethodNotAllowed, toNotFound } from '@turnpike/http-service/createHttpApp';
import { ApiError } from '@turnpike/public-api/apiError';
import type { GuardFault } from '@turnpike/public-api/authFault';
import type { ErrorBody } from '@turnpike/public-api/errorBodies';
import { type HeaderName, KEY_LIMIT_HEADERS } from '@turnpike/public-api/headers';
import { toMessagesError, toResponsesBody } from '@turnpike/public-api/messagesError';
import { toErrorHeaders, type WireError } from '@turnpike/public-api/wireError';
import type { SpendFault } from '../../../../services/auth/src/api/authServiceError.ts';
import { toPublicError as createToKeyError } from '../../../../services/auth/src/api/authServiceError.ts';
import type { ListFault } from '../../../../services/catalog/src/api/catalogError.ts';
import { createToWireError as createToModelsError } from '../../../../services/catalog/src/api/catalogError.ts';
import { toEdgeError } from '../../../../services/edge/src/api/edgeError.ts';
import { createToWireError as createToMediaError } from '../../../../services/media-jobs/src/api/mediaError.ts';
import type { MediaFault } from '../../../../services/media-jobs/src/api/mediaFault.ts';
import { createToWireError as createToInferenceError } from '../../../../services/model-router/src/api/inferenceError.ts';
import type { InferenceFault } from '../../../../services/model-router/src/api/inferenceFault.ts';
import type { UsageFault } from '../../../../services/usage-ledger/src/api/ledgerError.ts';
import { createToPublicError as createToUsageError } from '../../../../services/usage-ledger/src/api/ledgerError.ts';
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
  /** Sets of headers, if a status has several causes: a response has exactly one set. */
  'x-header-sets'?: HeaderSet[];
}

interface ErrorAnswer {
  description: string;
  /** Default: the envelope alone. */
  bodies?: SchemaName[];
  /** Example error responses of services, by their names. */
  examples: Record<string, WireError>;
  always?: HeaderName[];
  sometimes?: HeaderName[];
  sets?: HeaderSet[];
}

const BODIES_WITH_PARAM: ReadonlySet<SchemaName> = new Set(['ErrorEnvelope', 'FlatError']);

/** An error answer: a JSON body of one of the given shapes. Throws for an example that has a header which is not described. */
function toErrorResponse(answer: ErrorAnswer): ResponseObject {
  const { description, bodies = ['ErrorEnvelope'], examples, sets, always = [], sometimes = [] } = answer;
  const headers = toHeaders({
    always: ['x-error-message', ...always],
    sometimes: [
      ...(bodies.some((name) => BODIES_WITH_PARAM.has(name)) ? (['x-error-param'] as const) : []),
      ...sometimes,
    ],
  });
  const [body, ...others] = bodies.map(refTo);
  const schema = others.length === 0 && body ? body : { anyOf: bodies.map(refTo) };
  const values = Object.entries(examples).map(([name, example]) => {
    for (const header of Object.keys({ ...toErrorHeaders(example.body), ...example.headers }))
      if (!Object.hasOwn(headers, header)) throw new Error(`${name} has ${header}: ${description}`);
    return [name, { value: example.body }] as const;
  });
  return {
    description,
    headers,
    content: { 'application/json': { schema, examples: Object.fromEntries(values) } },
    ...(sets && { 'x-header-sets': sets }),
  };
}

const OPTIONS = { keysPageUrl: 'https://turnpike.example/docs/keys' };

/** Words faults as the service does that answers with them. */
const by =
  <F extends { kind: string }>(toWireError: (error: unknown) => WireError | undefined) =>
  (fault: F): WireError => {
    const worded = toWireError(new ApiError(fault));
    if (!worded) throw new Error(`nobody words ${fault.kind}`);
    return worded;
  };
const inference = by<InferenceFault>(createToInferenceError(OPTIONS));
const media = by<MediaFault>(createToMediaError(OPTIONS));
const models = by<GuardFault | ListFault>(createToModelsError(OPTIONS));
const key = by<GuardFault | SpendFault>((error) => createToKeyError(error, OPTIONS));
const usage = by<GuardFault | UsageFault>(createToUsageError(OPTIONS));

const FLOODED = toEdgeError({ kind: 'flood_limit_exceeded', perMinute: 6_000, resetMs: 1_000 });
const MODEL_NOT_ALLOWED = {
  kind: 'model_not_allowed',
  model: 'bge-m3',
  allowedModels: ['llama-3.3-70b-instruct'],
} as const;
const TOO_MANY_LOOK_UPS = { kind: 'look_ups_exceeded', of: 'key', perSecond: 50, retryAfterSeconds: 1 } as const;
const KEY_LIMITS = {
  limitRequests: 600,
  remainingRequests: 0,
  resetRequestsMs: 60_000,
  limitTokens: 1_000_000,
  remainingTokens: 990_000,
  resetTokensMs: 600,
};

const FLOOD: HeaderSet = {
  description: 'The flood limit per address, which is far above normal use and comes before the API.',
  required: ['x-ratelimit-reset'],
  absent: ['retry-after', 'x-router-call-id', ...KEY_LIMIT_HEADERS],
};
const CALL_HEADERS: HeaderName[] = ['x-router-call-id', ...KEY_LIMIT_HEADERS];

/** A limit that says when to try again, and nothing else but these headers. */
const limit = (description: string, ...also: HeaderName[]): HeaderSet => ({
  description,
  required: ['retry-after', ...also],
  absent: ['x-ratelimit-reset', ...KEY_LIMIT_HEADERS.filter((name) => !also.includes(name))],
});

/** Error answers that several operations share, by the name they have among the document's components. */
export const SHARED_RESPONSES = {
  AuthUnreachable: toErrorResponse({
    description:
      'An internal service could not be reached, or gave no valid answer. It is always safe to retry, with backoff.',
    bodies: ['BareError'],
    examples: { unreachable: models({ kind: 'router_unreachable' }) },
  }),
  InferenceBalance: toErrorResponse({
    description:
      'The maximum cost of the request fits no balance, or the account cannot pay now. Nothing ran. `message` has which. After a top-up the same key works again.',
    bodies: ['InsufficientBalance', 'AccountRefused'],
    examples: {
      insufficient_balance: inference({
        kind: 'insufficient_balance',
        maxUsageCostNanoUsd: 12_300_000n,
        remainingNanoUsd: 10_000_000n,
        keyRemainingNanoUsd: 10_000_000n,
        heldNanoUsd: 0n,
        limitedBy: 'key_budget',
        affordableOutputTokens: 412,
      }),
      spend_cap_reached: inference({ kind: 'spend_cap_reached' }),
    },
    always: ['x-router-call-id', 'x-should-retry'],
    sometimes: KEY_LIMIT_HEADERS,
  }),
  InferenceFailure: toErrorResponse({
    description: 'The engine or the gateway failed. Nothing was charged.',
    examples: { failed: inference({ kind: 'engine_failed' }), unforeseen: toInternalError() },
    sometimes: ['x-should-retry', ...CALL_HEADERS],
  }),
  InferenceForbidden: toErrorResponse({
    description:
      'The key is blocked by an administrator, may not call the model, or its organization belongs to another region.',
    bodies: ['RegionNotServed', 'ErrorEnvelope'],
    examples: {
      key_blocked: inference({ kind: 'key_blocked' }),
      region_not_served: inference({ kind: 'region_not_served' }),
      model_not_allowed: inference(MODEL_NOT_ALLOWED),
    },
    always: ['x-should-retry'],
    sometimes: ['x-router-call-id'],
  }),
  InferenceInvalid: toErrorResponse({
    description:
      'The request is malformed, or has a value that cannot be served; `param` names the field if it is known. The same request fails again.',
    examples: {
      field: inference({
        kind: 'invalid_request',
        message: 'n must be 1: only one choice is returned',
        param: 'n',
      }),
      context: inference({
        kind: 'context_too_long',
        message: 'This model’s maximum context length is 8192 tokens.',
      }),
    },
    sometimes: CALL_HEADERS,
  }),
  InferenceThrottled: toErrorResponse({
    description:
      'The key’s requests, tokens or counts of prompts of this minute are used up, too much of what it sends is malformed, or too many wrong keys are tried from the address; or the flood limit, which has other headers.',
    examples: {
      key: inference({ kind: 'rate_limited', limiter: 'requests', retryAfterMs: 100, rateLimit: KEY_LIMITS }),
      flood: FLOODED,
    },
    sometimes: ['retry-after', 'x-ratelimit-reset', ...CALL_HEADERS],
    sets: [
      limit('A limit of the key.', ...CALL_HEADERS),
      limit('Too much of what the key sends is malformed, or was to be counted.', 'x-router-call-id'),
      FLOOD,
    ],
  }),
  InferenceUnavailable: toErrorResponse({
    description:
      'The service lacks capacity or a dependency: retry with backoff. With `code` `model_deactivated` the model is switched off: use another.',
    examples: {
      busy: inference({ kind: 'engine_busy' }),
      disabled: inference({ kind: 'model_disabled', model: 'qwen3-32b' }),
    },
    sometimes: ['retry-after', 'x-should-retry', ...CALL_HEADERS],
  }),
  InferenceUnauthorized: toErrorResponse({
    description: 'The key is missing, mistyped, revoked, expired, or of another region’s host.',
    examples: { invalid: inference({ kind: 'invalid_api_key' }) },
    // A key that was revoked a moment ago may be refused only when the call is admitted.
    sometimes: ['x-router-call-id'],
  }),
  InferenceUnknownModel: toErrorResponse({
    description: 'No such model in this region; or, as a plain envelope, one without capacity here.',
    bodies: ['UnknownModel', 'ErrorEnvelope'],
    examples: {
      unknown: inference({ kind: 'unknown_model', didYouMean: ['qwen3-32b'] }),
      no_capacity: inference({ kind: 'model_without_capacity', model: 'qwen3-32b' }),
    },
    always: ['x-router-call-id', 'x-should-retry'],
  }),
  JobNotFound: toErrorResponse({
    description:
      'This key has no such job: the id is unknown, of another key, or its 24 hours are over. For contents also: the job has no output yet, or none at this index.',
    bodies: ['FlatError'],
    examples: { unknown: media({ kind: 'job_not_found' }), unfinished: media({ kind: 'content_not_there' }) },
    always: ['x-should-retry'],
  }),
  KeyUnavailable: toErrorResponse({
    description: 'Too many keys are looked up at once. Retry with backoff.',
    bodies: ['FlatError'],
    examples: { busy: key({ kind: 'too_many_look_ups' }) },
    sometimes: ['retry-after'],
  }),
  LookUpThrottled: toErrorResponse({
    description: 'The key looks up more a second than one key may (a flat body); or the flood limit (an envelope).',
    bodies: ['FlatError', 'ErrorEnvelope'],
    examples: {
      key: usage(TOO_MANY_LOOK_UPS),
      flood: FLOODED,
    },
    sometimes: ['retry-after', 'x-ratelimit-reset'],
    sets: [limit('The limit of look-ups.'), FLOOD],
  }),
  LookUpUnauthorized: toErrorResponse({
    description: 'There is no key in the request (a flat body), or it is not valid here (an envelope).',
    bodies: ['FlatError', 'ErrorEnvelope'],
    examples: {
      missing: usage({ kind: 'missing_authorization' }),
      invalid: usage({ kind: 'invalid_api_key' }),
    },
  }),
  MediaBalance: toErrorResponse({
    description:
      'The maximum cost of the request fits no balance, or the account cannot pay now. Nothing ran. `message` has which. After a top-up the same key works again.',
    bodies: ['MediaBalance', 'FlatError'],
    examples: {
      insufficient_balance: media({
        kind: 'insufficient_balance',
        maxUsageCostNanoUsd: 50_000_000n,
        remainingNanoUsd: 10_000_000n,
        keyRemainingNanoUsd: 10_000_000n,
        heldNanoUsd: 0n,
        limitedBy: 'key_budget',
      }),
      spend_cap_reached: media({ kind: 'spend_cap_reached' }),
    },
    always: ['x-should-retry'],
    sometimes: KEY_LIMIT_HEADERS,
  }),
  MediaFailure: toErrorResponse({
    description:
      'The model or the gateway failed, and nothing was charged. With `pricing_unavailable` there is no price: nothing ran, and it is safe to retry.',
    bodies: ['FlatError', 'ErrorEnvelope'],
    examples: {
      no_price: media({ kind: 'pricing_unavailable', model: 'flux.1-schnell' }),
      failed: media({ kind: 'backend_failed' }),
      unforeseen: toInternalError(),
    },
    sometimes: ['x-should-retry', ...KEY_LIMIT_HEADERS],
  }),
  MediaForbidden: toErrorResponse({
    description:
      'The key is blocked by an administrator, may not call the model, or its organization belongs to another region.',
    examples: {
      key_blocked: media({ kind: 'key_blocked' }),
      region_not_served: media({ kind: 'region_not_served' }),
      model_not_allowed: media(MODEL_NOT_ALLOWED),
    },
    always: ['x-should-retry'],
  }),
  MediaInvalid: toErrorResponse({
    description:
      'A field is wrong: `param` names it, and `message` has the allowed values. The same request fails again.',
    bodies: ['FlatError'],
    examples: {
      field: media({
        kind: 'invalid_request',
        message: 'size must be 512x512 or 1024x1024 for this model',
        param: 'size',
      }),
    },
    sometimes: KEY_LIMIT_HEADERS,
  }),
  MediaLookUpUnavailable: toErrorResponse({
    description: 'Jobs, or the key, cannot be read now. Retry with backoff.',
    bodies: ['FlatError'],
    examples: { jobs: media({ kind: 'jobs_unavailable' }), keys: media({ kind: 'auth_unavailable' }) },
    sometimes: ['retry-after'],
  }),
  MediaMalformed: toErrorResponse({
    description:
      'The body does not parse: it has a wrong content type, is malformed, or larger than it may be; or the model refused the request for its content.',
    bodies: ['FlatError', 'ErrorEnvelope'],
    examples: { json: media({ kind: 'body_not_json' }), content: media({ kind: 'content_refused' }) },
    sometimes: ['x-should-retry', ...KEY_LIMIT_HEADERS],
  }),
  MediaThrottled: toErrorResponse({
    description:
      'The key’s requests of this minute are used up, or too many wrong keys are tried from the address (both flat); or the flood limit (an envelope).',
    bodies: ['FlatError', 'ErrorEnvelope'],
    examples: {
      key: media({ kind: 'rate_limited', limiter: 'requests', retryAfterMs: 100, rateLimit: KEY_LIMITS }),
      flood: FLOODED,
    },
    sometimes: ['retry-after', 'x-ratelimit-reset', ...KEY_LIMIT_HEADERS],
    sets: [limit('A limit of the key.', ...KEY_LIMIT_HEADERS), limit('Too many wrong keys from the address.'), FLOOD],
  }),
  MediaUnauthorized: toErrorResponse({
    description: 'The key is missing, mistyped, revoked, expired, or of another region’s host.',
    bodies: ['FlatError'],
    examples: { missing: media({ kind: 'missing_authorization' }), invalid: media({ kind: 'invalid_api_key' }) },
  }),
  MediaUnavailable: toErrorResponse({
    description:
      'Nothing can serve it right now (`backend_unavailable`, `transcode_overloaded`), or something needed is not there: retry with backoff, unless `x-should-retry` says no. With `model_deactivated` the model is switched off: use another.',
    bodies: ['FlatError'],
    examples: {
      backend: media({ kind: 'backend_unavailable', retryAfterSeconds: 20 }),
      transcode: media({ kind: 'transcode_overloaded', retryAfterSeconds: 2 }),
      disabled: media({ kind: 'model_disabled', model: 'flux.1-schnell' }),
    },
    sometimes: ['retry-after', 'x-should-retry', ...KEY_LIMIT_HEADERS],
  }),
  MediaUnknownModel: toErrorResponse({
    description: 'No such media model in this region, or one that is not served here now.',
    examples: { unknown: media({ kind: 'model_not_found' }) },
    always: ['x-should-retry'],
    sometimes: KEY_LIMIT_HEADERS,
  }),
  MethodNotAllowed: toErrorResponse({
    description: 'The path is known; another method was used.',
    examples: { method: toMethodNotAllowed('PUT', 'GET') },
    always: ['allow'],
  }),
  ModelsForbidden: toErrorResponse({
    description: 'The key is blocked by an administrator, or its organization belongs to another region.',
    examples: { blocked: models({ kind: 'key_blocked' }) },
    always: ['x-should-retry'],
  }),
  ModelsThrottled: toErrorResponse({
    description: 'The list is asked for too often, by this key, this address or by all; or the flood limit.',
    examples: {
      list: models({ kind: 'list_throttled', of: 'address', perMinute: 120, waitMs: 1_000 }),
      flood: FLOODED,
    },
    sometimes: ['retry-after', 'x-ratelimit-reset'],
    sets: [limit('The model list’s own limits.'), FLOOD],
  }),
  ModelsUnauthorized: toErrorResponse({
    description: 'The key is missing, mistyped, revoked, expired, or of another region’s host.',
    examples: { invalid: models({ kind: 'invalid_api_key' }) },
  }),
  NotFound: toErrorResponse({
    description:
      'There is nothing at this path: every path that this document does not list. Below `/v1/messages` the body is that of the Messages API.',
    bodies: ['ErrorEnvelope', 'MessagesError'],
    sometimes: ['request-id'],
    examples: {
      unlisted: toNotFound(),
      unsupported: toEdgeError({
        kind: 'unsupported_endpoint',
        operation: { name: 'files', instead: 'Send what they hold within the request.' },
      }),
    },
    always: ['x-should-retry'],
  }),
  UploadInvalid: toErrorResponse({
    description:
      'A field failed: `param` names it. An upload of a wrong content type repeats its `message` in `detail`.',
    bodies: ['FlatError', 'NoForm'],
    examples: {
      field: media({ kind: 'invalid_request', message: 'file must not be empty', param: 'file' }),
      no_form: media({ kind: 'upload_not_form_type' }),
    },
    sometimes: KEY_LIMIT_HEADERS,
  }),
  UploadTooLarge: toErrorResponse({
    description: 'The upload is above the limit: by its announced length, or, without a `message`, by what came of it.',
    bodies: ['UploadTooLarge'],
    examples: {
      announced: media({ kind: 'upload_too_large', maxBytes: 26_214_400, sentBytes: 26_214_401 }),
      read: media({ kind: 'upload_too_large', maxBytes: 26_214_400, sentBytes: undefined }),
    },
  }),
  UsageInvalid: toErrorResponse({
    description: 'A parameter cannot be served: `param` names it.',
    bodies: ['FlatError'],
    examples: { range: usage({ kind: 'invalid_request', param: 'end', problem: 'must lie after start' }) },
  }),
  UsageNotFound: toErrorResponse({
    description: 'No such call of this key: an unknown id, one of another key, or a record that is not written yet.',
    bodies: ['FlatError'],
    examples: { unknown: usage({ kind: 'usage_not_found' }) },
  }),
  UsageTimeout: toErrorResponse({
    description: 'The query took too long. Narrow the span, and retry; that is safe.',
    examples: { timeout: usage({ kind: 'usage_timeout' }) },
    sometimes: ['retry-after'],
  }),
  UsageUnavailable: toErrorResponse({
    description: 'Usage, or the key, cannot be looked up right now. Retry with backoff.',
    bodies: ['FlatError', 'ErrorEnvelope'],
    examples: {
      ledger: usage({ kind: 'ledger_unavailable' }),
      keys: usage({ kind: 'auth_unavailable' }),
    },
    sometimes: ['retry-after'],
  }),
};

const STATUSES: Readonly<Record<string, number>> &
  Record<'InferenceBalance' | 'InferenceForbidden' | 'InferenceUnknownModel', number> = {
  InferenceBalance: 402,
  InferenceFailure: 500,
  InferenceForbidden: 403,
  InferenceInvalid: 400,
  InferenceThrottled: 429,
  InferenceUnauthorized: 401,
  InferenceUnavailable: 503,
  InferenceUnknownModel: 404,
  MethodNotAllowed: 405,
};

/** The refusals of a chat's gates as the Responses API words them. */
export const RESPONSES_RESPONSES = Object.fromEntries(
  (['InferenceBalance', 'InferenceForbidden', 'InferenceUnknownModel'] as const).map((name) => [
    name.replace('Inference', 'Responses'),
    reword(SHARED_RESPONSES[name], 'ErrorEnvelope', (body) => toResponsesBody({ status: STATUSES[name], body })),
  ]),
);

/** The errors of a chat as the Messages API words them. */
export const MESSAGES_RESPONSES = Object.fromEntries(
  Object.entries(SHARED_RESPONSES)
    .filter(([name]) => name.startsWith('Inference') || name === 'MethodNotAllowed')
    .map(([name, response]) => [
      `Messages${name.replace('Inference', '')}`,
      reword(
        { ...response, headers: { ...response.headers, ...toHeaders({ always: ['request-id'] }) } },
        'MessagesError',
        (body) => toMessagesError({ status: STATUSES[name] ?? 400, body }, undefined),
      ),
    ]),
);

/** The same of a count of tokens, which is no call: nothing names one, and the key's limits of calls do not apply. */
export const COUNT_RESPONSES = Object.fromEntries(
  Object.entries(MESSAGES_RESPONSES).map(([name, response]) => [
    name.replace('Messages', 'Count'),
    withoutCall(response),
  ]),
);

function withoutCall({ headers, 'x-header-sets': sets, ...response }: ResponseObject): ResponseObject {
  const isOfCall = (name: string): boolean => CALL_HEADERS.includes(name as HeaderName);
  return {
    ...response,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !isOfCall(name))),
    ...(sets && {
      'x-header-sets': sets
        .filter(({ required }) => !required.some((name) => KEY_LIMIT_HEADERS.includes(name as never)))
        .map(({ required, ...set }) => ({ ...set, required: required.filter((name) => !isOfCall(name)) })),
    }),
  };
}

function reword(response: ResponseObject, schema: SchemaName, toBody: (body: ErrorBody) => object): ResponseObject {
  const examples = Object.entries(response.content['application/json']?.examples ?? {}).map(
    ([name, { value }]) => [name, { value: toBody(value as ErrorBody) }] as const,
  );
  const content = { 'application/json': { schema: refTo(schema), examples: Object.fromEntries(examples) } };
  return { ...response, content };
}

export type SharedResponse = keyof typeof SHARED_RESPONSES;
