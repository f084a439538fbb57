import type { JsonSchema } from './jsonSchema.ts';

export interface Header {
  description: string;
  required: boolean;
  schema: JsonSchema;
}

const HEADERS = {
  'x-request-id': {
    description: 'Names this answer, for support. Never taken from the client.',
    schema: { type: 'string', format: 'uuid' },
  },
  'x-router-call-id': {
    description: 'Names the call: the `request_id` of its usage record. On every answer after the key was accepted.',
    schema: { type: 'string', format: 'uuid' },
  },
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
  'x-accel-buffering': {
    description: '`no`, on streams: proxies on the way must not hold events back.',
    schema: { type: 'string', const: 'no' },
  },
  allow: {
    description: 'The methods that the path has.',
    schema: { type: 'string' },
  },
} satisfies Record<string, Omit<Header, 'required'>>;

export type HeaderName = keyof typeof HEADERS;

/** The limits of a key, on every answer to a call that its limits were asked about. */
export const KEY_LIMITS: HeaderName[] = [
  'x-ratelimit-limit-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-requests',
  'x-ratelimit-reset-tokens',
];

/** Headers of an answer. `x-request-id` is on every one. */
export function toHeaders({ always = [], sometimes = [] }: { always?: HeaderName[]; sometimes?: HeaderName[] }) {
  const required = ['x-request-id' as const, ...always];
  const names = [...new Set([...required, ...sometimes])].sort();
  return Object.fromEntries(
    names.map((name): [string, Header] => [name, { ...HEADERS[name], required: required.includes(name) }]),
  );
}
