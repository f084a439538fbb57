import type { Client } from '../client.ts';
import { createPythonClient } from './createPythonClient.ts';

const ERRORS = {
  wrongKey: 'AuthenticationError',
  unknownModel: 'NotFoundError',
  insufficientBalance: 'APIStatusError',
  rateLimited: 'RateLimitError',
  promptTooLong: 'BadRequestError',
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
    errors: { ...ERRORS, insufficientBalance: 'APIError', promptTooLong: 'ContextWindowExceededError' },
    lacks: ['listModels', 'base64', 'draw', 'film', 'speak', 'hear'],
    hides: ['suggestions'],
  }),
];
