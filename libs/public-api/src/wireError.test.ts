import { expect, it } from '@jest/globals';
import { ApiError } from './apiError.ts';
import { type GuardFault, toModelsGuardError } from './authFault.ts';
import { retryAfter } from './headers.ts';
import { bare, envelope, findWording, flat, gateRejection, toErrorHeaders, type WireError } from './wireError.ts';

function toOwnError({ kind }: { kind: 'lost' | 'key_blocked' }): WireError {
  switch (kind) {
    case 'lost':
      return bare(502, 'lost');
    case 'key_blocked':
      return bare(502, 'blocked');
  }
}

const toGuardError = (fault: GuardFault) => toModelsGuardError(fault, { keysPageUrl: '' });

it.each<[string, unknown, number | undefined]>([
  ['the first wording that has a case for it', new ApiError({ kind: 'key_blocked' }), 502],
  ['a later one, where the first has none', new ApiError({ kind: 'invalid_api_key' }), 401],
  ['none, where no wording knows the fault', new ApiError({ kind: 'unheard_of' }), undefined],
  ['none, for what is no fault', new Error('lost'), undefined],
])('words an error by %s', (_case, error, status) => {
  expect(findWording(error, [toOwnError, toGuardError])?.status).toBe(status);
});

it.each([
  [0, '1'],
  [0.2, '1'],
  [1.2, '2'],
  [30, '30'],
])('says to come again after %d s in whole seconds, and at least one', (seconds, text) => {
  expect(retryAfter(seconds)).toEqual({ 'retry-after': text });
});

it.each([
  ['an envelope', envelope(400, { message: 'Send it.', type: 'x', param: 'n' }), 'Send it.', 'n'],
  ['one without a field', envelope(429, { message: 'Wait.', type: 'x', param: null }), 'Wait.', undefined],
  [
    'a flat body',
    flat(422, 'invalid_request_body', { message: 'size must be 1x1', param: 'size' }),
    'size must be 1x1',
    'size',
  ],
  ['a gate', gateRejection(402, { error: 'account_on_hold', message: 'On hold.' }), 'On hold.', undefined],
  ['a bare body', bare(502, 'upstream router unavailable'), 'upstream router unavailable', undefined],
  [
    'a body without a sentence',
    { status: 413, body: { error: 'file_too_large' as const, max_size_mb: 25 } },
    'file_too_large',
    undefined,
  ],
] as [string, WireError, string, string | undefined][])(
  'says in headers what is wrong, of %s',
  (_case, { body }, message, param) => {
    expect(toErrorHeaders(body)).toEqual({ 'x-error-message': message, ...(param && { 'x-error-param': param }) });
  },
);

it.each([
  ['typographic signs', 'key’s “own” 5 × 3…', 'key\'s "own" 5 x 3...'],
  ['accents', 'Déjà vu, Ångström', 'Deja vu, Angstrom'],
  ['signs that ASCII has no word for', 'a 天 b 😀 c', 'a ? b ? c'],
  ['line breaks, which would begin another header', 'a\r\nset-cookie: b\n\tc', 'a set-cookie: b c'],
  ['other control characters', 'a\u0000b\u007fc\u0085d\u2028e', 'a?b?c d e'],
  ['half of a pair', 'a\ud83d b', 'a? b'],
  ['300 characters as they are', 'x'.repeat(300), 'x'.repeat(300)],
  ['301 characters cut', 'x'.repeat(301), `${'x'.repeat(297)}...`],
  ['a letter that becomes many', '\ufdfa'.repeat(40), expect.stringMatching(/^[ -~]{1,300}$/)],
])('writes %s into a header', (_case, text, ascii) => {
  const { body } = envelope(400, { message: text, type: 'x', param: text });
  expect(toErrorHeaders(body)).toEqual({ 'x-error-message': ascii, 'x-error-param': ascii });
});

it('leaves out the header of a field that has no name', () => {
  for (const param of ['', ' ', '\r\n'])
    expect(toErrorHeaders(envelope(400, { message: 'm', type: 'x', param }).body)).toEqual({ 'x-error-message': 'm' });
});
