import type { Client } from '../client.ts';
import { createPythonClient } from './createPythonClient.ts';

const ERRORS = {
  wrongKey: 'AuthenticationError',
  unknownModel: 'NotFoundError',
  insufficientBalance: 'APIStatusError',
  rateLimited: 'RateLimitError',
  promptTooLong: 'BadRequestError',
  unprocessable: 'UnprocessableEntityError',
};

/** The clients that Python programs use. */
export const pythonClients: Client[] = [
  createPythonClient({
    name: 'openai (PyPI)',
    script: 'openai_client.py',
    errors: ERRORS,
  }),
  createPythonClient({
    name: 'litellm (PyPI)',
    script: 'litellm_client.py',
    errors: {
      ...ERRORS,
      insufficientBalance: 'APIError',
      promptTooLong: 'ContextWindowExceededError',
      unprocessable: 'BadRequestError',
    },
    lacks: ['listModels', 'base64', 'clips'],
    hides: ['suggestions'],
  }),
];
