import { describe, expect, it } from '@jest/globals';
import {
  type AuthFault,
  type GuardFault,
  toInferenceGuardError,
  toModelsGuardError,
  toServiceGuardError,
} from './authFault.ts';
import type { WireError } from './wireError.ts';

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

/** Every refusal of gate 1, as each family words it (specification, Errors; decisions, Error shapes per family). */
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
  ['svc', 'key_blocked', { status: 401, body: { error: refusal } }],
  ['svc', 'region_not_served', { status: 401, body: { error: refusal } }],
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
  it.each<['key' | 'address', object]>([
    ['key', { doc_url: keysPageUrl }],
    ['address', {}],
  ])('counted by %s, with a doc_url for the key’s own limit alone', (of, docUrl) => {
    const answer = { status: 429, body: bodyOf(docUrl), headers: { 'retry-after': '7' } };
    expect(FAMILIES[family]({ kind: 'look_ups_exceeded', of, retryAfterSeconds: 7 })).toEqual(answer);
  });
});
