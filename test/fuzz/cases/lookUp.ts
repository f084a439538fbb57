import { aCharacter } from '@turnpike/test-support/aCharacter';
import fc from 'fast-check';
import type { CallCase } from './fuzzCase.ts';
import { headerFields } from './headerFields.ts';

const ids = fc.oneof(
  fc.constantFrom(
    'llama-3.1-8b-instruct',
    'bge-m3',
    'BAAI/BGE-M3',
    'a/b/bge-m3',
    'a//bge-m3',
    'nobody',
    '__proto__',
    'constructor',
    '%00',
    '%E2%80%AE',
    "'%20OR%201=1--",
  ),
  fc.uuid(),
  fc.string({ unit: aCharacter, minLength: 1, maxLength: 12 }).map((text) => encodeURIComponent(text.toWellFormed())),
  fc.constant('a'.repeat(2_000)),
);
const values = fc.oneof(
  fc.constantFrom(
    '2026-11-01',
    '2026-11-21T10:00:00Z',
    '2026-11-21T10:30:00Z',
    '0',
    '-1',
    '9999-12-31',
    '2026-02-30',
    '',
  ),
  fc.constantFrom(
    'model',
    'model,day',
    'hour',
    'model,model',
    '__proto__',
    "';SELECT%201",
    '%00',
    '%ff',
    '1e400',
    '+275760-09-13',
  ),
);
const parameter = fc
  .tuple(fc.constantFrom('start', 'end', 'group_by', 'x', 'start[]', '__proto__'), values)
  .map(([name, value]) => `${name}=${value}`);

const path = fc.oneof(
  ids.map((id) => `/v1/models/${id}`),
  ids.map((id) => `/v1/svc/usage/request/${id}`),
  fc.array(parameter, { maxLength: 4 }).map((parameters) => `/v1/svc/usage?${parameters.join('&')}`),
  fc
    .tuple(fc.constantFrom('key', 'credit'), fc.array(parameter, { maxLength: 2 }))
    .map(([what, parameters]) => `/v1/svc/${what}?${parameters.join('&')}`),
  fc.constant('/v1/models'),
);

/** Reads of models, key, credit and usage, with ids and queries of any kind. */
export const lookUp: fc.Arbitrary<CallCase> = fc
  .tuple(
    path,
    headerFields,
    fc.oneof({ weight: 20, arbitrary: fc.constant('GET') }, fc.constantFrom('POST', 'DELETE', 'OPTIONS')),
  )
  .map(([target, headers, method]) => ({
    kind: 'call',
    method,
    path: target,
    headers,
    body: undefined,
    chunkBytes: undefined,
  }));
