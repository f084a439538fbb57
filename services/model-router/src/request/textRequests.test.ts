import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { aJsonBody } from '../../test/aChatRequest.ts';
import { aPricedModel } from '../../test/aPricedModel.ts';
import { parseCompletionRequest } from './completionRequest.ts';
import { parseEmbeddingRequest } from './embeddingRequest.ts';

const completion = (fields: object) =>
  parseCompletionRequest(aJsonBody(JSON.stringify({ model: 'm', prompt: 'Hello', ...fields })));
const embedding = (fields: object) =>
  parseEmbeddingRequest(aJsonBody(JSON.stringify({ model: 'm', input: 'Hello', ...fields })));

function paramOf(action: () => unknown): unknown {
  try {
    action();
    return 'accepted';
  } catch (error) {
    if (error instanceof ApiError && 'param' in error.fault) return error.fault.param;
    throw error;
  }
}

describe('completions', () => {
  it.each<[string, object, string]>([
    ['prompt missing', { prompt: undefined }, 'prompt'],
    ['prompt a list', { prompt: ['a', 'b'] }, 'prompt'],
    ['prompt token ids', { prompt: [1, 2] }, 'prompt'],
    ['prompt empty', { prompt: '' }, 'prompt'],
    ['logprobs', { logprobs: 1 }, 'logprobs'],
    ['echo', { echo: true }, 'echo'],
    ['best_of', { best_of: 3 }, 'best_of'],
    ['n above 1', { n: 2 }, 'n'],
    ['stream_options without stream', { stream_options: { include_usage: true } }, 'stream_options'],
    ['max_tokens 0', { max_tokens: 0 }, 'max_tokens'],
    ['a suffix that is no text', { suffix: 7 }, 'suffix'],
    ['an engine-control key', { priority: 1 }, 'priority'],
    ['a seed of 65 bits', { seed: 2 ** 64 }, 'seed'],
  ])('refuses %s and names it', (_case, fields, param) => {
    expect(paramOf(() => completion(fields))).toBe(param);
  });

  it('asks for 16 tokens where the client names no length', () => {
    expect(completion({}).requestedOutputTokens).toBe(16);
    expect(completion({ max_tokens: null }).requestedOutputTokens).toBe(16);
    expect(completion({ max_tokens: 7 }).requestedOutputTokens).toBe(7);
  });

  it.each([{ logprobs: false }, { logprobs: null }, { suffix: 'end' }, { top_k: 5 }, { n: 1 }])(
    'takes %j',
    (fields) => {
      expect(paramOf(() => completion(fields))).toBe('accepted');
    },
  );

  it('counts the suffix as prompt', () => {
    const { prompt, tokenizeQuestions } = completion({ suffix: 'end' });
    expect(prompt).toMatchObject({ textMembers: ['prompt', 'suffix'], parts: 2 });
    expect(tokenizeQuestions()).toEqual([{ prompt: 'Hello' }, { prompt: 'end' }]);
  });

  it('is refused on a model that writes no text', () => {
    expect(paramOf(() => completion({}).checkModel(aPricedModel({ category: 'embeddings' }), () => []))).toBe('model');
  });
});

describe('embeddings', () => {
  it.each<[string, object, string]>([
    ['input missing', { input: undefined }, 'input'],
    ['input empty', { input: '' }, 'input'],
    ['an empty text in the list', { input: ['a', ''] }, 'input[1]'],
    ['token ids', { input: [1, 2] }, 'input'],
    ['an empty list', { input: [] }, 'input'],
    ['lists of token ids', { input: [[1, 2]] }, 'input'],
    ['a conversation beside the input', { messages: [{ role: 'user', content: 'x' }] }, 'messages'],
    ['an engine-control key', { cache_salt: 'x' }, 'cache_salt'],
    ['no dimensions', { dimensions: 0 }, 'dimensions'],
    ['more than 2,048 texts', { input: new Array(2_049).fill('a') }, 'input'],
    ['an unknown format', { encoding_format: 'hex' }, 'encoding_format'],
    ['an explicit null format', { encoding_format: null }, 'encoding_format'],
  ])('refuses %s and names it', (_case, fields, param) => {
    expect(paramOf(() => embedding(fields))).toBe(param);
  });

  it('takes one text or a list, as float or base64', () => {
    expect(embedding({}).prompt.parts).toBe(1);
    expect(embedding({ input: ['a', 'b', 'c'], encoding_format: 'base64' }).prompt.parts).toBe(3);
    expect(embedding({ encoding_format: 'float' }).requestedOutputTokens).toBe(0);
  });

  it('is refused on a model of another category', () => {
    expect(paramOf(() => embedding({}).checkModel(aPricedModel({ category: 'text' }), () => []))).toBe('model');
  });
});
