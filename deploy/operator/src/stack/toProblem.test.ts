import { expect, it } from '@jest/globals';
import { authApi } from '@turnpike/internal-api/auth';
import { InternalCallError } from '@turnpike/internal-api/transport/createClient';
import { toProblem } from './toProblem.ts';

const urls = {
  auth: 'http://auth:1',
  catalog: 'http://catalog:1',
  'model-router': 'http://router:1',
  'usage-ledger': 'http://ledger:1',
  'media-jobs': 'http://media:1',
};
const late = (route: 'getKey' | 'createKey'): string =>
  toProblem(new InternalCallError('auth', authApi.routes[route], { kind: 'late', timeoutMs: 10_000 }), urls);

it('warns of a repetition after a change that gave no answer, and not after a question', () => {
  expect(late('createKey')).toBe(
    'auth gave no answer within 10 s. What was asked for may have been done: look before you repeat it.',
  );
  expect(late('getKey')).toBe('auth gave no answer within 10 s: "turnpike status" says whether it runs.');
});
