import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { createAnswerChecker } from './support/openapi/createAnswerChecker.ts';
import { createEventChecker } from './support/openapi/createEventChecker.ts';
import { readDocument } from './support/openapi/readDocument.ts';

const check = createAnswerChecker(readDocument());

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': randomUUID() };
const ERROR_HEADERS = { ...JSON_HEADERS, 'x-error-message': 'm' };
const KEY_LIMITS = {
  'x-ratelimit-limit-requests': '600',
  'x-ratelimit-limit-tokens': '1000000',
  'x-ratelimit-remaining-requests': '599',
  'x-ratelimit-remaining-tokens': '0',
  'x-ratelimit-reset-requests': '0.1s',
  'x-ratelimit-reset-tokens': '12s',
};
const FINAL_HEADERS = { ...ERROR_HEADERS, 'x-should-retry': 'false' };
const CALL_HEADERS = { ...JSON_HEADERS, ...KEY_LIMITS, 'x-router-call-id': randomUUID() };
const CHUNK = { id: 'a', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [] };

interface Told {
  method?: string;
  path?: string;
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** Returns the problems of an answer; by default the good answer to a look-up of the key. */
function problemsOf({
  method = 'GET',
  path = '/v1/svc/key',
  status = 200,
  headers = JSON_HEADERS,
  body,
}: Told): string[] {
  const { problems, checkJson } = check({ method, path, status, headers: new Headers(headers) });
  return body === undefined ? problems : [...problems, ...checkJson(body)];
}
const chat = (told: Told) =>
  problemsOf({ method: 'POST', path: '/v1/chat/completions', headers: CALL_HEADERS, ...told });

const KEY = {
  object: 'key',
  currency: 'USD',
  key_name: 'sk-...wxyz',
  spend_usd: 0,
  max_budget_usd: null,
  remaining_budget_usd: null,
  rate_limit: { rpm: 1, tpm: 1 },
  expires_at: null,
  generated_at: '2026-11-21T10:00:00.000Z',
};
const ENVELOPE = { error: { message: 'm', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' } };

it('has nothing to say of an answer that is as documented', () => {
  expect(problemsOf({ body: KEY })).toEqual([]);
});

it.each([
  ['a field that nobody documented', { ...KEY, key: 'sk-secret' }, 'must NOT have additional properties'],
  ['one that is missing', { ...KEY, currency: undefined }, "must have required property 'currency'"],
  ['one of another type', { ...KEY, spend_usd: '0' }, 'body/spend_usd must be number'],
  ['one of another format', { ...KEY, generated_at: 'now' }, 'must match format "date-time"'],
])('tells of a body with %s', (_case, body, problem) => {
  expect(problemsOf({ body: JSON.parse(JSON.stringify(body)) }).join()).toContain(problem);
});

it.each([
  ['a status that the operation has not', { status: 402 }, 'has a status that is not documented'],
  [
    'a media type that it has not',
    { headers: { ...JSON_HEADERS, 'content-type': 'text/html' } },
    'is text/html, which',
  ],
  ['no request id', { headers: { 'content-type': 'application/json' } }, 'has no x-request-id'],
  ['a header that it has not', { headers: { ...JSON_HEADERS, 'x-powered-by': 'us' } }, 'has x-powered-by, which'],
])('tells of an answer with %s', (_case, told, problem) => {
  expect(problemsOf(told).join()).toContain(problem);
});

it.each([
  ['has no call id', { ...JSON_HEADERS, ...KEY_LIMITS }, 'has no x-router-call-id'],
  [
    'has a reset that is no duration',
    { ...CALL_HEADERS, 'x-ratelimit-reset-requests': '12' },
    'x-ratelimit-reset-requests: 12',
  ],
])('tells of a chat that %s', (_case, headers, problem) => {
  expect(chat({ headers }).join()).toContain(problem);
});

it.each([
  ['the key’s', { ...CALL_HEADERS, ...ERROR_HEADERS, 'retry-after': '1' }, []],
  ['the address’', { ...ERROR_HEADERS, 'x-ratelimit-reset': '1' }, []],
  [
    'both',
    { ...CALL_HEADERS, ...ERROR_HEADERS, 'retry-after': '1', 'x-ratelimit-reset': '1' },
    ['has the headers of 0 of its causes'],
  ],
  ['neither', ERROR_HEADERS, ['has the headers of 0 of its causes']],
])('knows the 429 of a chat by its headers: %s limit', (_case, headers, problems) => {
  expect(chat({ status: 429, headers, body: ENVELOPE })).toEqual(problems);
});

it.each([
  ['a wrong method', { method: 'PUT', status: 405, headers: { ...ERROR_HEADERS, allow: 'GET' }, body: ENVELOPE }, []],
  [
    'a wrong method without Allow',
    { method: 'PUT', status: 405, headers: ERROR_HEADERS, body: ENVELOPE },
    ['has no allow'],
  ],
  ['an error without its sentence', { status: 401, body: ENVELOPE }, ['has no x-error-message']],
  ['a wrong method that was served', { method: 'PUT', body: KEY }, ['has a status that is not documented']],
  ['an unlisted path', { path: '/v1/files', status: 404, headers: FINAL_HEADERS, body: ENVELOPE }, []],
  ['an unlisted path that was served', { path: '/v1/files', body: {} }, ['has a status that is not documented']],
])('knows what belongs to %s', (_case, told, problems) => {
  expect(problemsOf(told)).toEqual(problems);
});

const streamHeaders = {
  ...CALL_HEADERS,
  'content-type': 'text/event-stream; charset=utf-8',
  'x-accel-buffering': 'no',
};

/** Returns the problems of a stream whose bytes come one by one. */
function problemsOfStream(text: string): string[] {
  const head = { method: 'POST', path: '/v1/chat/completions', status: 200, headers: new Headers(streamHeaders) };
  const checker = createEventChecker(check(head).checkJson);
  const bytes = new TextEncoder().encode(text);
  return [...Array.from(bytes, (byte) => checker.push(Uint8Array.of(byte))).flat(), ...checker.end()];
}
const toEvents = (...events: unknown[]): string =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('');

it('has nothing to say of a stream that is as documented, whole or failed', () => {
  const chunk = { ...CHUNK, choices: [{ index: 0, delta: { content: 'é😀' }, logprobs: null, finish_reason: 'stop' }] };
  expect(problemsOfStream(`: keep-alive\n: keep-alive\n${toEvents(chunk)}: keep-alive\n${toEvents('[DONE]')}`)).toEqual(
    [],
  );
  expect(problemsOfStream(toEvents(chunk, ENVELOPE))).toEqual([]);
});

it.each([
  ['ends without [DONE]', toEvents(CHUNK), 'ends as if whole'],
  ['has a blank line behind a comment', `: keep-alive\n\n${toEvents(CHUNK, '[DONE]')}`, 'has what is no event'],
  ['ends within an event', `${toEvents(CHUNK)}data: {`, 'ends within an event'],
  ['goes on after [DONE]', toEvents('[DONE]', CHUNK), 'goes on after its end'],
  ['says [DONE] after an error', toEvents(ENVELOPE, '[DONE]'), 'goes on after its error'],
  ['has an event that is no JSON', toEvents('{', '[DONE]'), 'has an event that is no JSON'],
  ['has a line that is no event', `event: ping\n\n${toEvents('[DONE]')}`, 'has what is no event'],
  [
    'has a field that nobody documented',
    toEvents({ ...CHUNK, system_fingerprint: 'x' }, '[DONE]'),
    'additional properties',
  ],
])('tells of a stream that %s', (_case, text, problem) => {
  expect(problemsOfStream(text).join()).toContain(problem);
});

/** Returns the problems of a stream of media. */
function problemsOfMedia(path: string, ...events: unknown[]): string[] {
  const head = { method: 'POST', path, status: 200, headers: new Headers(streamHeaders) };
  const { checkJson, streamEnd } = check(head);
  const checker = createEventChecker(checkJson, streamEnd);
  return [...checker.push(Buffer.from(toEvents(...events))), ...checker.end()];
}
const MEDIA_USAGE = { billing_unit: 'character', units_consumed: 2, total_spend: 0.1 };
const SPOKEN = { type: 'speech.audio.done', usage: MEDIA_USAGE };
const DRAWN = { type: 'image_generation.completed', created_at: 1, size: '1x1', output_format: 'png', b64_json: '' };

it('knows by their types where streams of media end', () => {
  const delta = { type: 'speech.audio.delta', audio: 'AAAA' };
  expect(problemsOfMedia('/v1/audio/speech', delta, SPOKEN)).toEqual([]);
  expect(problemsOfMedia('/v1/images/generations', DRAWN, { ...DRAWN, usage: MEDIA_USAGE })).toEqual([]);
  expect(problemsOfMedia('/v1/audio/speech', delta).join()).toContain('ends as if whole');
  expect(problemsOfMedia('/v1/audio/speech', SPOKEN, delta).join()).toContain('goes on after its end');
  expect(problemsOfMedia('/v1/audio/speech', SPOKEN, '[DONE]').join()).toContain('goes on after its end');
  expect(problemsOfMedia('/v1/audio/speech', delta, '[DONE]').join()).toContain('no JSON');
});
