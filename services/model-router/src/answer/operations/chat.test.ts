import { expect, it } from '@jest/globals';
import { editChatAnswer } from './chat.ts';

const aMessage = { role: 'assistant', content: 'Hi', refusal: null, annotations: null, audio: null, reasoning: null };

/** A whole answer with everything an engine adds. */
const anAnswer = (fields: object = {}, choice: object = {}): string =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'engine-name',
    choices: [{ index: 0, message: aMessage, logprobs: null, finish_reason: 'stop', stop_reason: null, ...choice }],
    service_tier: null,
    system_fingerprint: 'vllm-0.29.0-1a2b3c4d',
    usage: {
      prompt_tokens: 9,
      total_tokens: 12,
      completion_tokens: 3,
      prompt_tokens_details: { cached_tokens: 4, created_cache_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 2 },
    },
    prompt_logprobs: null,
    kv_transfer_params: null,
    metrics: { queue: 1 },
    ...fields,
  });

/** The edited answer, its payload read back. */
function edit(text: string, isCacheCapable = true) {
  const answer = editChatAnswer(Buffer.from(text), {
    callId: 'call-1',
    engine: { repeatsCallIds: true },
    canonicalModel: 'small-chat',
    isCacheCapable,
    chargeOf: () => 2_010n,
  });
  if (answer.kind !== 'answer') return answer;
  const { payload, ...rest } = answer;
  return { ...rest, body: payload && JSON.parse(payload.toString()) };
}

it('shows the convention’s fields, the canonical model and the cache counts, and nothing an engine adds', () => {
  const answer = edit(anAnswer());
  expect(answer).toMatchObject({
    kind: 'answer',
    hasToolCall: false,
    usage: { promptTokens: 9, completionTokens: 3, cachedPromptTokens: 4, reasoningTokens: 2 },
  });
  expect(answer.kind === 'answer' && answer.body).toEqual({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'small-chat',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'Hi', refusal: null }, logprobs: null, finish_reason: 'stop' },
    ],
    usage: {
      prompt_tokens: 9,
      completion_tokens: 3,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
      cache_read_input_tokens: 4,
      cache_creation_input_tokens: 5,
      cost: 0.00000201,
    },
  });
});

it('shows no cached tokens on a model that is not cache-capable', () => {
  expect(edit(anAnswer(), false)).toMatchObject({
    body: { usage: { cache_read_input_tokens: 0, cache_creation_input_tokens: 0 } },
  });
});

it.each([
  ['new', { reasoning: 'because' }],
  ['old', { reasoning: null, reasoning_content: 'because' }],
  ['between', { reasoning: 'because', reasoning_content: 'because' }],
])('shows the reasoning of an engine that is %s under both names', (_release, extra) => {
  expect(edit(anAnswer({}, { message: { ...aMessage, ...extra } }))).toMatchObject({
    body: { choices: [{ message: { reasoning: 'because', reasoning_content: 'because' } }] },
  });
});

const aCall = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
/** The message and the finish reason of an answer with these calls. */
function choiceWith(toolCalls: unknown, finishReason = 'stop') {
  const message = { ...aMessage, content: null, tool_calls: toolCalls };
  const answer = edit(anAnswer({}, { message, finish_reason: finishReason }));
  return answer.kind === 'answer' ? answer.body.choices[0] : answer;
}

it('shows each tool call with an id, its type, and its arguments as text', () => {
  const { message } = choiceWith([
    aCall,
    { ...aCall, function: { name: 'g', arguments: { city: '天気' } }, index: 7 },
    { function: { name: 'h' } },
  ]);
  expect(message.tool_calls).toEqual([
    aCall,
    {
      id: expect.stringMatching(/^call_[0-9a-f]{24}$/),
      type: 'function',
      function: { name: 'g', arguments: '{"city":"天気"}' },
    },
    { id: expect.stringMatching(/^call_[0-9a-f]{24}$/), type: 'function', function: { name: 'h', arguments: '' } },
  ]);
});

it.each([
  ['stop', [aCall], 'tool_calls'],
  ['tool_calls', [aCall], 'tool_calls'],
  ['length', [aCall], 'length'],
  ['tool_calls', [], 'stop'],
  ['repetition', [], 'stop'],
  ['', [], 'stop'],
  ['', [aCall], 'tool_calls'],
])('shows the finish reason %s with the calls %j as %s', (given, calls, shown) => {
  expect(choiceWith(calls, given).finish_reason).toBe(shown);
});

it.each([
  ['without a name', { id: 'c', type: 'function', function: { arguments: '{}' } }],
  ['that is none', 7],
])('does not take an answer with a call %s for one', (_case, call) => {
  expect(choiceWith([call])).toEqual({ kind: 'broken' });
});

it.each([
  ['a list of calls', [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }], true],
  ['a call without a list', { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }, true],
  ['an empty list', [], false],
  ['null', null, false],
])('tells whether a tool was called: %s', (_case, toolCalls, hasToolCall) => {
  const message = { ...aMessage, content: null, tool_calls: toolCalls };
  const answer = edit(anAnswer({}, { message, finish_reason: 'tool_calls' }));
  expect(answer).toMatchObject({ kind: 'answer', hasToolCall });
  expect(JSON.stringify(answer).includes('tool_calls":[]')).toBe(false);
});

it.each<[string, string, object]>([
  [
    'an error that came with 200',
    '{"error":{"message":"m","type":"BadRequestError","code":400}}',
    { kind: 'error', status: 400 },
  ],
  ['an aborted answer', anAnswer({}, { finish_reason: 'abort' }), { kind: 'error', status: 500 }],
  ['an answer without a finish reason', anAnswer({}, { finish_reason: null }), { kind: 'error', status: 500 }],
  ['text that is a list', anAnswer({}, { message: { content: ['x'] } }), { kind: 'broken' }],
  ['reasoning that is no text', anAnswer({}, { message: { content: 'x', reasoning: 7 } }), { kind: 'broken' }],
  ['tool calls that are a text', anAnswer({}, { message: { content: 'x', tool_calls: 'f' } }), { kind: 'broken' }],
  ['no JSON', '<html>', { kind: 'broken' }],
  ['no choices', anAnswer({ choices: [] }), { kind: 'broken' }],
  ['a choice without a message', anAnswer({}, { message: null }), { kind: 'broken' }],
])('does not take %s for an answer', (_case, text, expected) => {
  expect(edit(text)).toEqual(expected);
});

it.each([
  ['absent', { usage: undefined }],
  ['negative', { usage: { prompt_tokens: 9, completion_tokens: -5 } }],
  ['beyond any count', { usage: { prompt_tokens: 2 ** 40, completion_tokens: 1 } }],
])('has no count where the engine’s is %s', (_case, fields) => {
  expect(edit(anAnswer(fields))).toMatchObject({ kind: 'answer', usage: undefined, body: undefined });
});
