import { expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { aJsonBody } from '../../test/aChatRequest.ts';
import { parseChatRequest } from './chatRequest.ts';
import { parseCompletionRequest } from './completionRequest.ts';
import { parseEmbeddingRequest } from './embeddingRequest.ts';

const PARSERS = { chat: parseChatRequest, completions: parseCompletionRequest, embeddings: parseEmbeddingRequest };
const VALID = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'x' }] },
  completions: { model: 'm', prompt: 'x' },
  embeddings: { model: 'm', input: 'x' },
};

const toolOf = (name: string) => ({ type: 'function', function: { name } });

/** The whole fault: with its name and the problem a client reads one sentence. */
function faultOf(operation: keyof typeof PARSERS, fields: object): unknown {
  try {
    return PARSERS[operation](aJsonBody(JSON.stringify({ ...VALID[operation], ...fields })));
  } catch (error) {
    if (error instanceof ApiError) return error.fault;
    throw error;
  }
}

it.each<[string, string, keyof typeof PARSERS, object]>([
  ['messages', 'is required', 'chat', { messages: undefined }],
  ['messages', 'must hold at least one message', 'chat', { messages: [] }],
  [
    'messages[0].role',
    'must be system, developer, user, assistant, tool or function',
    'chat',
    { messages: [{ role: 'robot' }] },
  ],
  [
    'messages[0].content[0].type',
    'must be text, image_url or refusal',
    'chat',
    { messages: [{ role: 'user', content: [{ type: 'file' }] }] },
  ],
  ['response_format.type', 'must be text, json_object or json_schema', 'chat', { response_format: { type: 'xml' } }],
  ['tools[0].function.name', 'must not be empty', 'chat', { tools: [toolOf('')] }],
  ['tools[0].function.name', 'must have at most 256 characters, not 257', 'chat', { tools: [toolOf('f'.repeat(257))] }],
  ['tools', 'must have at most 128 items, not 129', 'chat', { tools: new Array(129).fill(toolOf('f')) }],
  ['temperature', 'must be at most 2, not 3', 'chat', { temperature: 3 }],
  ['temperature', 'must be a number', 'chat', { temperature: 'hot' }],
  ['max_tokens', 'must be at least 1, not 0', 'chat', { max_tokens: 0 }],
  ['max_tokens', 'must be a whole number', 'chat', { max_tokens: 1.5 }],
  ['seed', 'must be a whole number', 'chat', { seed: 1.5 }],
  ['seed', 'must fit 64 bits', 'chat', { seed: 2 ** 64 }],
  ['n', 'must be 1: only one choice is returned', 'chat', { n: 2 }],
  ['top_logprobs', 'is not supported', 'chat', { top_logprobs: 2 }],
  ['cache_salt', 'is not supported', 'chat', { cache_salt: 'x' }],
  ['prompt', 'is required', 'completions', { prompt: undefined }],
  ['prompt', 'must be one text', 'completions', { prompt: ['x'] }],
  ['prompt', 'must not be empty', 'completions', { prompt: '' }],
  ['input', 'is required', 'embeddings', { input: undefined }],
  ['input', 'must not be empty', 'embeddings', { input: [] }],
  ['input', 'must be a text or a list of 1 to 2048 texts, none empty', 'embeddings', { input: [{}] }],
  ['messages', 'is not supported: send texts as input', 'embeddings', { messages: [] }],
])('a refusal reads: %s %s', (param, problem, operation, fields) => {
  expect(faultOf(operation, fields)).toEqual({ kind: 'invalid_request', param, message: `${param} ${problem}` });
});
