import { expect, it } from '@jest/globals';
import { editEmbeddingAnswer } from './embeddings.ts';

const options = {
  callId: 'call-1',
  engine: { repeatsCallIds: true },
  canonicalModel: 'embedder',
  isCacheCapable: false,
  chargeOf: () => 2_010n,
};
const anAnswer = (data: string, usage = '{"prompt_tokens":5,"total_tokens":5,"completion_tokens":0}'): Buffer =>
  Buffer.from(`{"id":"embd-1","object":"list","created":1,"model":"engine-name","data":${data},"usage":${usage}}`);

it.each([
  ['numbers', '[{"object":"embedding","index":0,"embedding":[0.1234567890123456789,-1e-7]}]'],
  ['base64', '[{"object":"embedding","index":0,"embedding":"AACAPw=="}]'],
])('copies the vectors digit for digit as %s, and names the canonical model', (_form, data) => {
  const answer = editEmbeddingAnswer(anAnswer(data), options);
  expect(answer.kind === 'answer' && String(answer.payload)).toBe(
    `{"object":"list","data":${data},"model":"embedder","usage":{"prompt_tokens":5,"total_tokens":5,"cost":0.00000201}}`,
  );
  expect(answer).toMatchObject({ usage: { promptTokens: 5, completionTokens: 0 } });
});

it('has no count where the engine gave none', () => {
  expect(editEmbeddingAnswer(anAnswer('[]', 'null'), options)).toEqual({
    kind: 'answer',
    payload: undefined,
    usage: undefined,
    hasToolCall: false,
  });
});

it.each([
  ['an error that came with 200', '{"error":{"message":"m","code":400}}', { kind: 'error', status: 400 }],
  ['one of another call', '{"object":"list","id":"embd-01923f6a-7b3c-7def-8123-456789abcdef"}', { kind: 'foreign' }],
  ['no JSON', '<html>', { kind: 'broken' }],
  ['an object without data', '{"object":"list"}', { kind: 'broken' }],
])('does not take %s for an answer', (_case, text, expected) => {
  expect(editEmbeddingAnswer(Buffer.from(text), options)).toEqual(expected);
});

it('passes on no field of a vector that the public API does not have, and any number of vectors', () => {
  const data = '[{"index":0,"embedding":[1,2.5],"object":"embedding","truncated":null} ,\n{"index":1,"embedding":[]}]';
  const answer = editEmbeddingAnswer(anAnswer(data), options);
  expect(answer.kind === 'answer' && JSON.parse(String(answer.payload))).toMatchObject({
    data: [
      { object: 'embedding', index: 0, embedding: [1, 2.5] },
      { object: 'embedding', index: 1, embedding: [] },
    ],
  });
});

it.each([
  ['numbers that JSON does not have', '[{"index":0,"object":"embedding","embedding":[NaN,1]}]'],
  ['a list with a hole', '[{"index":0,"object":"embedding","embedding":[1,,2]}]'],
  ['a vector that is no list', '[{"index":0,"object":"embedding","embedding":{"a":1}}]'],
  ['text that is no base64', '[{"index":0,"object":"embedding","embedding":"<b>"}]'],
  ['a vector without its place', '[{"object":"embedding","embedding":[1]}]'],
  ['a key twice', '[{"index":0,"index":1,"object":"embedding","embedding":[1]}]'],
  ['vectors that are not separated', '[{"index":0,"embedding":[1]} {"index":1,"embedding":[1]}]'],
  ['a list that does not end', '[{"index":0,"object":"embedding","embedding":[1]}'],
  ['an object', '{"index":0,"object":"embedding","embedding":[1]}'],
])('takes no answer for whole, and bills none, whose data are %s', (_case, data) => {
  expect(editEmbeddingAnswer(anAnswer(data), options)).toEqual({ kind: 'broken' });
});
