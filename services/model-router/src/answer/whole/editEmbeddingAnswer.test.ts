import { expect, it } from '@jest/globals';
import { editEmbeddingAnswer } from './editEmbeddingAnswer.ts';

const options = { canonicalModel: 'embedder', isCacheCapable: false };
const anAnswer = (data: string, usage = '{"prompt_tokens":5,"total_tokens":5,"completion_tokens":0}'): Buffer =>
  Buffer.from(`{"id":"embd-1","object":"list","created":1,"model":"engine-name","data":${data},"usage":${usage}}`);

it.each([
  ['numbers', '[{"index":0,"object":"embedding","embedding":[0.1234567890123456789,-1e-7]}]'],
  ['base64', '[{"index":0,"object":"embedding","embedding":"AACAPw=="}]'],
])('copies the vectors digit for digit as %s, and names the canonical model', (_form, data) => {
  const answer = editEmbeddingAnswer(anAnswer(data), options);
  expect(answer.kind === 'answer' && answer.payload.toString()).toBe(
    `{"object":"list","data":${data},"model":"embedder","usage":{"prompt_tokens":5,"total_tokens":5}}`,
  );
  expect(answer).toMatchObject({ usage: { promptTokens: 5, completionTokens: 0 } });
});

it('has no count where the engine gave none', () => {
  expect(editEmbeddingAnswer(anAnswer('[]', 'null'), options)).toMatchObject({ kind: 'answer', usage: undefined });
});

it.each([
  ['an error that came with 200', '{"error":{"message":"m","code":400}}', { kind: 'error', status: 400 }],
  ['no JSON', '<html>', { kind: 'broken' }],
  ['an object without data', '{"object":"list"}', { kind: 'broken' }],
])('does not take %s for an answer', (_case, text, expected) => {
  expect(editEmbeddingAnswer(Buffer.from(text), options)).toEqual(expected);
});
