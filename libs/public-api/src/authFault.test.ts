import { describe, expect, it } from '@jest/globals';
import {
  type AuthFault,
  type GuardFault,
  toInferenceGuardError,
  toMediaGuardError,
  toModelsGuardError,
  toServiceGuardError,
} from './authFault.ts';
import { toErrorHeaders, type WireError } from './wireError.ts';

const keysPageUrl = 'https://dashboard.example/keys';
const FAMILIES = {
  chat: (fault: GuardFault) => toInferenceGuardError(fault, { keysPageUrl }),
  models: (fault: GuardFault) => toModelsGuardError(fault, { keysPageUrl }),
  svc: (fault: GuardFault) => toServiceGuardError(fault, { keysPageUrl }),
};
const NO_RETRY = { 'x-should-retry': 'false' };
const message = expect.any(String);
const refusal = { message, type: 'authentication_error', param: null, code: 'invalid_api_key', doc_url: keysPageUrl };
const busy = { message, type: 'service_unavailable', code: 'auth_service_unavailable' };
const wrongRegion = {
  message: 'region_not_served',
  type: 'None',
  param: 'None',
  code: '403',
  provider_specific_fields: { error: 'region_not_served', message },
};

/** Every refusal of gate 1, as each family words it. */
it.each<[keyof typeof FAMILIES, AuthFault['kind'], Omit<WireError, 'body'> & { body: object }]>([
  ['chat', 'missing_authorization', { status: 401, body: { error: refusal } }],
  ['chat', 'malformed_authorization', { status: 401, body: { error: refusal } }],
  ['chat', 'invalid_api_key', { status: 401, body: { error: refusal } }],
  [
    'chat',
    'key_blocked',
    {
      status: 403,
      body: { error: { message, type: 'permission_error', param: null, code: 'key_blocked' } },
      headers: NO_RETRY,
    },
  ],
  ['chat', 'region_not_served', { status: 403, body: { error: wrongRegion }, headers: NO_RETRY }],
  [
    'chat',
    'auth_unavailable',
    { status: 503, body: { error: { ...busy, param: null } }, headers: { 'retry-after': '1' } },
  ],
  [
    'models',
    'missing_authorization',
    { status: 401, body: { error: { message, type: 'auth', doc_url: keysPageUrl } } },
  ],
  [
    'models',
    'malformed_authorization',
    { status: 401, body: { error: { message, type: 'auth', doc_url: keysPageUrl } } },
  ],
  ['models', 'invalid_api_key', { status: 401, body: { error: { message, type: 'auth', doc_url: keysPageUrl } } }],
  ['models', 'key_blocked', { status: 403, body: { error: { message, type: 'auth' } }, headers: NO_RETRY }],
  ['models', 'region_not_served', { status: 403, body: { error: { message, type: 'auth' } }, headers: NO_RETRY }],
  ['models', 'auth_unavailable', { status: 502, body: { detail: 'upstream router auth unavailable' } }],
  [
    'svc',
    'missing_authorization',
    { status: 401, body: { error: 'missing_authorization', message, doc_url: keysPageUrl } },
  ],
  [
    'svc',
    'malformed_authorization',
    { status: 401, body: { error: 'malformed_authorization', message, doc_url: keysPageUrl } },
  ],
  ['svc', 'invalid_api_key', { status: 401, body: { error: refusal } }],
  [
    'svc',
    'key_blocked',
    {
      status: 401,
      body: { error: { ...refusal, message: 'This API key is blocked by an administrator.', code: 'key_blocked' } },
    },
  ],
  [
    'svc',
    'region_not_served',
    {
      status: 401,
      body: { error: { ...refusal, message: expect.stringContaining('region'), code: 'region_not_served' } },
    },
  ],
  ['svc', 'auth_unavailable', { status: 503, body: { error: busy }, headers: { 'retry-after': '1' } }],
])('%s answers %s as specified', (family, kind, answer) => {
  expect(FAMILIES[family]({ kind })).toEqual(answer);
});

const THROTTLED: [keyof typeof FAMILIES, (docUrl: object) => object][] = [
  [
    'chat',
    (docUrl) => ({ error: { message, type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded', ...docUrl } }),
  ],
  ['models', (docUrl) => ({ error: { message, type: 'rate_limit', ...docUrl } })],
  ['svc', (docUrl) => ({ error: 'rate_limit_exceeded', message, ...docUrl })],
];
describe.each(THROTTLED)('%s says to whoever looks up too fast when to come again', (family, bodyOf) => {
  it.each([
    [{ of: 'key', perSecond: 50 }, '50 look-ups per second for this key', { doc_url: keysPageUrl }],
    [{ of: 'address' }, 'different keys from this address', {}],
  ] as const)('counted by %j, with a doc_url for the key’s own limit alone', (limit, words, docUrl) => {
    const answer = FAMILIES[family]({ kind: 'look_ups_exceeded', ...limit, retryAfterSeconds: 7 });
    expect(answer).toEqual({ status: 429, body: bodyOf(docUrl), headers: { 'retry-after': '7' } });
    expect(toErrorHeaders(answer.body)['x-error-message']).toBe(`Rate limit reached: ${words}. Retry in 7 s.`);
  });
});

it.each([toInferenceGuardError, toModelsGuardError, toMediaGuardError, toServiceGuardError])(
  '%p names no page where none is set',
  (toGuardError) => {
    const faults: GuardFault[] = [
      { kind: 'missing_authorization' },
      { kind: 'invalid_api_key' },
      { kind: 'look_ups_exceeded', of: 'key', perSecond: 1, retryAfterSeconds: 1 },
    ];
    for (const fault of faults)
      expect(JSON.stringify(toGuardError(fault, { keysPageUrl: undefined }).body)).not.toContain('doc_url');
  },
);
