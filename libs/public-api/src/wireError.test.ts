import { expect, it } from '@jest/globals';
import { ApiError } from './apiError.ts';
import { type GuardFault, toModelsGuardError } from './authFault.ts';
import { retryAfter } from './headers.ts';
import { bare, findWording, type WireError } from './wireError.ts';

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
