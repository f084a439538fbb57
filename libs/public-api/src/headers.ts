/** Names an answer. */
export const REQUEST_ID_HEADER = 'x-request-id';
/** The same name of an answer, where clients of the Messages API look for it. */
export const MESSAGES_REQUEST_ID_HEADER = 'request-id';
/** Names a call, and its usage record. */
export const CALL_ID_HEADER = 'x-router-call-id';

/** Says that an answer has another form than was asked for. */
export const RESPONSE_FORMAT_HEADER = 'x-response-format';

/** The limits of a key, on every answer to a call that its limits were asked about. */
const KEY_LIMITS = {
  'x-ratelimit-limit-requests': {
    description: 'Requests a minute that the key may make.',
    schema: { type: 'integer', minimum: 1 },
  },
  'x-ratelimit-limit-tokens': {
    description: 'Tokens a minute that the key may use.',
    schema: { type: 'integer', minimum: 1 },
  },
  'x-ratelimit-remaining-requests': {
    description: 'Requests left right now.',
    schema: { type: 'integer', minimum: 0 },
  },
  'x-ratelimit-remaining-tokens': {
    description: 'Tokens left right now.',
    schema: { type: 'integer', minimum: 0 },
  },
  'x-ratelimit-reset-requests': {
    description: 'How long until all requests are back: seconds with a trailing `s`.',
    schema: { type: 'string', pattern: '^\\d+(\\.\\d{1,3})?s$' },
  },
  'x-ratelimit-reset-tokens': {
    description: 'How long until all tokens are back: seconds with a trailing `s`.',
    schema: { type: 'string', pattern: '^\\d+(\\.\\d{1,3})?s$' },
  },
};

/** Every header of ours that an answer may have, as the docs describe it. One that does not stand here reaches no client. */
export const HEADERS = {
  [REQUEST_ID_HEADER]: {
    description: 'Names this answer, for support. Never taken from the client.',
    schema: { type: 'string', format: 'uuid' },
  },
  [MESSAGES_REQUEST_ID_HEADER]: {
    description: 'The same as `x-request-id`, on the paths of the Messages API alone.',
    schema: { type: 'string', format: 'uuid' },
  },
  [CALL_ID_HEADER]: {
    description: 'Names the call: the `request_id` of its usage record. On every answer after the key was accepted.',
    schema: { type: 'string', format: 'uuid' },
  },
  [RESPONSE_FORMAT_HEADER]: {
    description: '`json_object`: a JSON schema was asked for, and the model gives any JSON object instead.',
    schema: { type: 'string', const: 'json_object' },
  },
  'x-ratelimit-reset': {
    description: 'Only on the flood limit per address: whole seconds until the next request is taken.',
    schema: { type: 'integer', minimum: 1 },
  },
  'retry-after': {
    description: 'Whole seconds to wait before trying again.',
    schema: { type: 'integer', minimum: 1 },
  },
  'x-should-retry': {
    description: '`false`: the same request will not, or must not, be tried again unasked.',
    schema: { type: 'string', const: 'false' },
  },
  'x-error-message': {
    description:
      'On every error: its sentence for people, in printable ASCII, cut at 300 characters. Clients that hide the body show headers.',
    schema: { type: 'string', pattern: '^[ -~]{1,300}$' },
  },
  'x-error-param': {
    description: 'On an error whose body has a `param`: the same, in printable ASCII, cut at 300 characters.',
    schema: { type: 'string', pattern: '^[ -~]{1,300}$' },
  },
  'x-accel-buffering': {
    description: '`no`, on streams: proxies on the way must not hold events back.',
    schema: { type: 'string', const: 'no' },
  },
  'openai-poll-after-ms': {
    description: 'Of a job under way: milliseconds after which it may be worth looking again.',
    schema: { type: 'integer', minimum: 1 },
  },
  'x-total-spend': {
    description:
      'Of speech and transcripts: USD that the whole answer costs. One that breaks off by a failure costs nothing.',
    schema: { type: 'string', pattern: '^\\d+(\\.\\d{1,9})?$' },
  },
  'x-content-type-options': {
    description: '`nosniff`, on what was made: it is what its type says.',
    schema: { type: 'string', const: 'nosniff' },
  },
  allow: {
    description: 'The methods that the path has.',
    schema: { type: 'string' },
  },
  ...KEY_LIMITS,
};

type KeyLimitHeader = keyof typeof KEY_LIMITS;
export type HeaderName = keyof typeof HEADERS;

export const KEY_LIMIT_HEADERS = Object.keys(KEY_LIMITS) as KeyLimitHeader[];

/** Goes with what would only fail again: the usual clients retry by themselves. */
export const NEVER_RETRY = { 'x-should-retry': 'false' };

/** Goes with streams. */
export const UNBUFFERED = { 'x-accel-buffering': 'no' };

/** Whole seconds to wait, and at least one. */
export const toWholeSeconds = (seconds: number): string => String(Math.max(1, Math.ceil(seconds)));

export const retryAfter = (seconds: number) => ({ 'retry-after': toWholeSeconds(seconds) });

/** Returns the header of the flood limit, which has no `Retry-After`. */
export const floodReset = (seconds: number) => ({ 'x-ratelimit-reset': toWholeSeconds(seconds) });

/** A key's limits after the gate's decision, as the `x-ratelimit-*` headers show them. */
export interface RateLimitState {
  limitRequests: number;
  remainingRequests: number;
  resetRequestsMs: number;
  limitTokens: number;
  remainingTokens: number;
  resetTokensMs: number;
}

/** A duration as the limit headers write it: seconds with at most three decimals and a trailing `s`. */
const toDuration = (ms: number): string => `${Math.round(ms) / 1_000}s`;

/** The `x-ratelimit-*` headers of an inference answer: the key's limits, what is left, and when all of it is back. */
export function toRateLimitHeaders(state: RateLimitState): Record<KeyLimitHeader, string> {
  return {
    'x-ratelimit-limit-requests': String(state.limitRequests),
    'x-ratelimit-limit-tokens': String(state.limitTokens),
    'x-ratelimit-remaining-requests': String(state.remainingRequests),
    'x-ratelimit-remaining-tokens': String(state.remainingTokens),
    'x-ratelimit-reset-requests': toDuration(state.resetRequestsMs),
    'x-ratelimit-reset-tokens': toDuration(state.resetTokensMs),
  };
}
