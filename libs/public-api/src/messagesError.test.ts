import { expect, it } from '@jest/globals';
import { toInferenceGuardError } from './authFault.ts';
import { toMessagesError } from './messagesError.ts';

it('names both headers of the Messages API to a caller without a key', () => {
  const error = toInferenceGuardError({ kind: 'missing_authorization' }, { keysPageUrl: undefined });
  expect(toMessagesError(error, 'id')).toEqual({
    type: 'error',
    error: {
      type: 'authentication_error',
      message: 'Send your API key in the Authorization header, as in "Authorization: Bearer sk-...", or in x-api-key.',
      code: 'invalid_api_key',
    },
    request_id: 'id',
  });
});
