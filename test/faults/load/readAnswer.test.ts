import { expect, it } from '@jest/globals';
import { readMessageStream, readMessageWhole, readResponseStream, readResponseWhole } from './readAgentsAnswer.ts';
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

const named = (event: { type: string } & Record<string, unknown>): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const ofResponse = (sequence_number: number, status: string, fields: object = {}): string => {
  const type = status === 'in_progress' ? 'response.created' : `response.${status}`;
  return named({ type, sequence_number, response: { status, error: null, usage: null, ...fields } });
};
const begun = ofResponse(0, 'in_progress');
const said = named({ type: 'response.output_text.delta', sequence_number: 1, delta: 'a' });
const counted = { usage: { input_tokens: 3, output_tokens: 1 } };
const gone = { error: { code: 'server_error', message: 'gone' } };

it.each([
  ['a stream up to its end', begun + said + ofResponse(2, 'completed', counted), true, { outcome: 'ok', deltas: 1 }],
  ['a stream that is cut', begun + ofResponse(1, 'incomplete', counted), true, { usage: { promptTokens: 3 } }],
  ['a stream that fails', begun + ofResponse(1, 'failed', gone), true, { outcome: 'error_event', error: /gone/ }],
  ['a stream that just stops', begun + said, true, { outcome: 'malformed' }],
  ['a lost event', begun + ofResponse(2, 'completed', counted), true, { outcome: 'malformed' }],
  ['anything behind the end', begun + ofResponse(1, 'failed', gone) + said, true, { outcome: 'malformed' }],
  ['a stream that broke', begun + said, false, { outcome: 'broken', deltas: 1 }],
])('reads %s of the Responses API', (_case, text, hasEnded, { error: words, ...expected }: Expected) => {
  const read = readResponseStream(text, { hasEnded });
  expect(read).toMatchObject(expected);
  if (words) expect(read.error).toMatch(words);
});
type Expected = { error?: RegExp } & Record<string, unknown>;

const start = named({ type: 'message_start' });
const delta = named({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'a' } });
const tokens = { input_tokens: 1, cache_read_input_tokens: 2, cache_creation_input_tokens: 0, output_tokens: 1 };
const stop = `${named({ type: 'message_delta', delta: {}, usage: tokens })}${named({ type: 'message_stop' })}`;
const fault = named({ type: 'error', error: { type: 'api_error', message: 'gone' } });

it.each([
  ['a stream up to its end', start + delta + stop, true, { outcome: 'ok', deltas: 1, usage: { promptTokens: 3 } }],
  ['a stream that fails', start + delta + fault, true, { outcome: 'error_event', error: 'gone' }],
  ['a stream that fails at once', fault, true, { outcome: 'error_event' }],
  ['a stream that just stops', start + delta, true, { outcome: 'malformed' }],
  ['a stream without a beginning', delta + stop, true, { outcome: 'malformed' }],
  ['anything behind the end', start + stop + delta, true, { outcome: 'malformed' }],
  ['a stream that broke', start + delta, false, { outcome: 'broken' }],
])('reads %s of the Messages API', (_case, text, hasEnded, expected) => {
  expect(readMessageStream(text, { hasEnded })).toMatchObject(expected);
});

it('reads whole answers and refusals of both APIs', () => {
  const response = JSON.stringify({ status: 'completed', error: null, ...counted });
  expect(readResponseWhole(200, response)).toMatchObject({ outcome: 'ok', usage: { completionTokens: 1 } });
  expect(readResponseWhole(200, '{}').outcome).toBe('malformed');
  expect(readMessageWhole(200, JSON.stringify({ type: 'message', usage: tokens }))).toMatchObject({ outcome: 'ok' });
  expect(readMessageWhole(200, '{}').outcome).toBe('malformed');
  for (const read of [readResponseWhole, readMessageWhole])
    expect(read(503, '{"type":"error","error":{"type":"x","message":"no"}}')).toMatchObject({
      outcome: '503',
      error: 'no',
    });
});
