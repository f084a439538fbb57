import { expect, it } from '@jest/globals';
import { isWorthRetrying } from '../terms/attemptResult.ts';
import { toEngineFault } from './toEngineFault.ts';

const SALT = 'q3J5kT0vXb2mN8wZr7LcYd1fGh4sPa6uEoI9xWvQtKs';
const toFault = (status: number, body: string) => toEngineFault(status, Buffer.from(body), { cacheSalt: SALT });
const nested = (error: object): string => JSON.stringify({ error });
const flat = (error: object): string => JSON.stringify({ object: 'error', ...error });

it.each([
  "This model's maximum context length is 2048 tokens. However, you requested 2723 tokens (1699 in the messages, 1024 in the completion). Please reduce the length of the messages or completion.",
  "'max_tokens' or 'max_completion_tokens' is too large: 1024. This model's maximum context length is 2048 tokens and your request has 1699 input tokens (1024 > 2048 - 1699).",
  "You passed 1699 input tokens and requested 1024 output tokens. However, the model's context length is only 2048 tokens, resulting in a maximum input length of 1024 tokens.",
  "This model's maximum context length is 32768 tokens. However, you requested 512 output tokens and your prompt contains at least 32769 input tokens, for a total of at least 33281 tokens. (parameter=input_tokens, value=32769)",
  'The decoder prompt (length 9000) is longer than the maximum model length of 8192.',
  'max_tokens=9000 cannot be greater than max_model_len=8192. Please request fewer output tokens.',
  "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens, which exceeds this limit even without any output tokens. (parameter=input_tokens, value=2049)",
  'max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)',
])('knows a prompt beyond the window, whichever engine says it: %s', (message) => {
  for (const body of [nested({ message, code: 400 }), flat({ message, code: 400 })])
    expect(toFault(400, body)).toEqual({ kind: 'context_too_long', message });
});

it.each<[string, number, string, object]>([
  [
    'a refused field, nested',
    400,
    nested({ message: 'bad', param: 'stop', code: 400 }),
    { kind: 'engine_refused', message: 'bad', param: 'stop' },
  ],
  [
    'a refused field, flat',
    400,
    flat({ message: 'bad', param: 'stop', code: 400 }),
    { kind: 'engine_refused', param: 'stop' },
  ],
  [
    'a dotted path',
    400,
    nested({ message: 'bad', param: 'body.messages' }),
    { kind: 'engine_refused', param: 'messages' },
  ],
  ['a null param', 400, nested({ message: 'bad', param: null }), { kind: 'engine_refused', param: null }],
  [
    'an image that cannot be read, new',
    422,
    nested({ message: 'bad', param: 'image_url' }),
    { kind: 'image_unusable' },
  ],
  [
    'an image that cannot be read, old',
    400,
    flat({ message: 'cannot identify image file <_io.BytesIO object at 0x7f0000000000>', param: null }),
    { kind: 'image_unusable' },
  ],
  [
    'an image that is no base64',
    501,
    nested({ message: 'Only base64 data URLs are supported for now.', param: null }),
    { kind: 'image_unusable' },
  ],
  [
    'something not built',
    501,
    nested({ message: 'not yet', param: null }),
    { kind: 'engine_refused', message: 'not yet' },
  ],
  ['a refusal without a sentence', 400, '', { kind: 'engine_refused', param: null }],
  ['a refusal in HTML', 400, '<html>', { kind: 'engine_refused', message: 'The model cannot serve this request.' }],
  ['a null error', 400, '{"error":null}', { kind: 'engine_refused' }],
  ['a full queue', 503, nested({ message: 'server busy' }), { kind: 'engine_busy' }],
  ['scaling', 503, '{"error":"scaling"}', { kind: 'engine_busy' }],
  ['too many requests', 429, '', { kind: 'engine_busy' }],
  ['a wrong engine key', 401, '{"error":"Unauthorized"}', { kind: 'engine_failed' }],
  ['a forbidden call', 403, '', { kind: 'engine_failed' }],
  [
    'an engine without the model',
    404,
    nested({ message: 'The model `x` does not exist.', param: 'model' }),
    { kind: 'engine_failed' },
  ],
  ['a wrong method', 405, '', { kind: 'engine_failed' }],
  ['an internal failure', 500, nested({ message: 'Internal server error' }), { kind: 'engine_failed' }],
  ['a dead engine', 500, nested({ message: 'EngineCore encountered an issue.' }), { kind: 'engine_failed' }],
  ['a context sentence that is no 400', 500, nested({ message: 'maximum context length' }), { kind: 'engine_failed' }],
  ['a status of its own', 418, '', { kind: 'engine_failed' }],
])('%s', (_case, status, body, fault) => {
  expect(toFault(status, body)).toMatchObject(fault);
});

it('never shows what an engine says about a failure of its own', () => {
  const body = nested({ message: 'CUDA error at 10.0.0.7:8000' });
  expect(JSON.stringify(toFault(500, body))).not.toContain('CUDA');
});

it('cuts a sentence that has no end', () => {
  const fault = toFault(400, nested({ message: 'x'.repeat(100_000) }));
  expect(fault.kind === 'engine_refused' && fault.message.length).toBe(1_000);
});

it.each<[Parameters<typeof isWorthRetrying>[0], boolean]>([
  [{ kind: 'engine_failed' }, true],
  [{ kind: 'engine_busy' }, true],
  [{ kind: 'no_healthy_engine' }, true],
  [{ kind: 'engine_refused', message: '', param: null }, false],
  [{ kind: 'context_too_long', message: '' }, false],
  [{ kind: 'forced_tool_not_called' }, false],
  [{ kind: 'image_unusable' }, false],
])('another engine might do better after %j: %s', (fault, isWorth) => {
  expect(isWorthRetrying(fault)).toBe(isWorth);
});

it.each([
  ['JSON', `bad: {"model":"m","cache_salt":"${SALT}","max_tokens":5}`, 'bad: {"model":"m","max_tokens":5}'],
  ['JSON within JSON', `bad: {\\"model\\":1,\\"cache_salt\\":\\"${SALT}\\"}`, 'bad: {\\"model\\":1}'],
  ['Python', `[{'input': {'model': 'm', 'cache_salt': '${SALT}', 'n': 1}}]`, "[{'input': {'model': 'm', 'n': 1}}]"],
  ['arguments', `Request(model=m, cache_salt=${SALT}, stop=None)`, 'Request(model=m, stop=None)'],
  [
    'a whole body',
    `bad: {"model":"m","cache_salt":"${SALT}","stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},"a":1}`,
    'bad: {"model":"m","stream":true,"a":1}',
  ],
  ['the salt alone', `not a salt: ${SALT}!`, 'not a salt: !'],
  ['the salt at the end of what is shown', `${'x'.repeat(980)}${SALT}`, 'x'.repeat(980)],
])('cuts what the router wrote out of a sentence that quotes it as %s', (_form, message, shown) => {
  for (const body of [nested({ message, param: 'stop' }), flat({ message, param: 'stop' })])
    expect(toFault(400, body)).toEqual({ kind: 'engine_refused', message: shown, param: 'stop' });
});

it.each(['cache_salt', 'stream_options', 'body.cache_salt', 'stream_options.continuous_usage_stats'])(
  'takes an engine for failed that refuses %s, which the router wrote',
  (param) => {
    expect(toFault(400, nested({ message: 'Extra inputs are not permitted', param }))).toEqual({
      kind: 'engine_failed',
    });
  },
);
