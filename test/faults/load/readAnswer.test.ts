import { expect, it } from '@jest/globals';
import { readStream, readWhole } from './readAnswer.ts';

const chunk = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
const usage = 'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}\n\n';
const done = 'data: [DONE]\n\n';
const error = 'data: {"error":{"message":"gone","code":"engine_failed"}}\n\n';

it.each([
  [
    'a stream up to its end',
    chunk + usage + done,
    true,
    { outcome: 'ok', deltas: 1, usage: { promptTokens: 3, completionTokens: 1 } },
  ],
  [
    'a stream that ends in an error',
    `: keep-alive\n: keep-alive\n${chunk}: keep-alive\n${error}`,
    true,
    { outcome: 'error_event', error: 'engine_failed: gone', deltas: 1 },
  ],
  ['a stream that just stops', chunk, true, { outcome: 'malformed' }],
  ['an end behind an error', error + done, true, { outcome: 'malformed' }],
  ['anything behind the end', done + chunk, true, { outcome: 'malformed' }],
  ['what is no JSON', 'data: {"choices"\n\n', true, { outcome: 'malformed' }],
  ['a stream that broke', chunk + chunk, false, { outcome: 'broken', deltas: 2 }],
])('reads %s', (_case, text, hasEnded, expected) => {
  expect(readStream(text, { hasEnded })).toMatchObject(expected);
});

it.each([
  ['an answer', 200, '{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}', 'ok'],
  ['an answer without usage', 200, '{"choices":[]}', 'malformed'],
  ['an error', 503, '{"error":{"message":"no"}}', '503'],
  ['a flat error', 502, '{"error":"bad_gateway"}', '502'],
  ['an error without words', 503, '{}', 'malformed'],
])('reads %s', (_case, status, text, outcome) => {
  expect(readWhole(status, text).outcome).toBe(outcome);
});
