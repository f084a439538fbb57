import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/public-api/apiError';
import { aChatRequest, aJsonBody } from '../../test/aChatRequest.ts';
import { aPricedModel } from '../../test/aPricedModel.ts';
import { parseChatRequest } from './chatRequest.ts';

/** The fault that an action ends in; undefined if it does not. */
function faultOf(action: () => unknown): unknown {
  try {
    action();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.fault;
    throw error;
  }
}
const refusalOf = (fields: object): unknown => faultOf(() => aChatRequest(fields));

const tools = [{ type: 'function', function: { name: 'look_up', parameters: {} } }];
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const imageOf = (url: string) => ({ type: 'image_url', image_url: { url } });
const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const textOf = (text: string) => ({ type: 'text', text });
const textsOf = (count: number) => ({ role: 'user', content: new Array(count).fill(textOf('x')) });
const CALL = 'messages[0].tool_calls[0]';
const aCallOf = (call: object) => ({
  messages: [{ role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: call }] }],
});

describe('a field that cannot be served is refused with its name', () => {
  it.each<[string, object, string]>([
    ['model missing', { model: undefined }, 'model'],
    ['model empty', { model: '' }, 'model'],
    ['model null', { model: null }, 'model'],
    ['model not a text', { model: 7 }, 'model'],
    ['messages missing', { messages: undefined }, 'messages'],
    ['messages empty', { messages: [] }, 'messages'],
    ['messages a text', { messages: 'Hello' }, 'messages'],
    ['an unknown role', { messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role'],
    ['content missing', { messages: [{ role: 'user' }] }, 'messages[0].content'],
    ['content null', user(null), 'messages[0].content'],
    ['tool message without its call', { messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id'],
    ['temperature above 2', { temperature: 2.1 }, 'temperature'],
    ['temperature a text', { temperature: '1' }, 'temperature'],
    ['top_p above 1', { top_p: 1.1 }, 'top_p'],
    ['presence_penalty below -2', { presence_penalty: -2.1 }, 'presence_penalty'],
    ['frequency_penalty above 2', { frequency_penalty: 2.1 }, 'frequency_penalty'],
    ['five stops', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
    ['a stop that is no text', { stop: [1] }, 'stop'],
    ['10,000 stops', { stop: new Array(10_000).fill('a') }, 'stop'],
    ['a broken seed', { seed: 1.5 }, 'seed'],
    ['a seed that is a text', { seed: '1' }, 'seed'],
    ['a user that is no text', { user: 1 }, 'user'],
    ['no output at all', { max_tokens: 0 }, 'max_tokens'],
    ['negative output', { max_completion_tokens: -1 }, 'max_completion_tokens'],
    ['half a token of output', { max_tokens: 0.5 }, 'max_tokens'],
    ['output beyond 2^31', { max_tokens: 2 ** 31 }, 'max_tokens'],
    ['output of 2^63', { max_tokens: 2 ** 63 }, 'max_tokens'],
    ['n = 2', { n: 2 }, 'n'],
    ['n = 0', { n: 0 }, 'n'],
    ['n = 10^9', { n: 1e9 }, 'n'],
    ['n a text', { n: '1' }, 'n'],
    [
      'include_usage a text',
      { stream: true, stream_options: { include_usage: 'yes' } },
      'stream_options.include_usage',
    ],
    ['logprobs', { logprobs: true }, 'logprobs'],
    ['top_logprobs', { top_logprobs: 1 }, 'top_logprobs'],
    ['an empty stop', { stop: '' }, 'stop'],
    ['an empty stop among others', { stop: ['a', ''] }, 'stop[1]'],
    ['stream a text', { stream: 'true' }, 'stream'],
    ['stream_options without stream', { stream_options: { include_usage: true } }, 'stream_options'],
    ['a forced tool without tools', { tool_choice: 'required' }, 'tool_choice'],
    ['a named tool without tools', { tool_choice: { type: 'function', function: { name: 'f' } } }, 'tool_choice'],
    ['a forced tool with empty tools', { tool_choice: 'required', tools: [] }, 'tool_choice'],
    ['an unknown tool_choice', { tool_choice: 'sometimes', tools }, 'tool_choice'],
    ['a choice among allowed tools', { tool_choice: { type: 'allowed_tools' }, tools }, 'tool_choice'],
    ['a custom tool as a choice', { tool_choice: { type: 'custom', custom: { name: 'f' } }, tools }, 'tool_choice'],
    [
      'a choice without a name',
      { tool_choice: { type: 'function', function: {} }, tools },
      'tool_choice.function.name',
    ],
    ['a custom tool', { tools: [...tools, { type: 'custom', custom: { name: 'f' } }] }, 'tools[1].type'],
    ['a tool without a name', { tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name'],
    ['10,000 tools', { tools: new Array(10_000).fill(tools[0]) }, 'tools'],
    ['129 tools', { tools: Array.from({ length: 129 }, () => tools[0]) }, 'tools'],
    ['an unknown response_format', { response_format: { type: 'xml' } }, 'response_format.type'],
    ['json_schema without one', { response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
    ['chat_template_kwargs', { chat_template_kwargs: { enable_thinking: true, x: 1 } }, 'chat_template_kwargs'],
    ['chat_template_kwargs a list', { chat_template_kwargs: [] }, 'chat_template_kwargs'],
    ['enable_thinking a text', { chat_template_kwargs: { enable_thinking: '{{ x }}' } }, 'chat_template_kwargs'],
    ['content a text in a list', user(['x']), 'messages[0].content'],
    ['a part without a type', user([{ text: 'x' }]), 'messages[0].content[0].type'],
    ['a text part without text', user([{ type: 'text' }]), 'messages[0].content[0].text'],
    ['an image part without image', user([{ type: 'image_url' }]), 'messages[0].content[0].image_url'],
    ['an image under a name', user([{ ...imageOf(PNG), uuid: 'a' }]), 'messages[0].content[0].uuid'],
    ['audio content', user([{ type: 'input_audio', input_audio: {} }]), 'messages[0].content[0].type'],
    [
      'video content after text',
      user([
        { type: 'text', text: 'x' },
        { type: 'video_url', video_url: { url: PNG } },
      ]),
      'messages[0].content[1].type',
    ],
    ['a file', user([{ type: 'file', file: { file_id: 'f' } }]), 'messages[0].content[0].type'],
    ['embedded images', user([{ type: 'image_embeds', image_embeds: 'x' }]), 'messages[0].content[0].type'],
    [
      'a call of a custom tool',
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: {} }] }] },
      'messages[0].tool_calls[0].type',
    ],
    [
      'a text that is an image, too',
      user([{ ...textOf('x'), image_url: 'http://10.0.0.1/' }]),
      'messages[0].content[0].image_url',
    ],
    ['an image that is a video, too', user([{ ...imageOf(PNG), video_url: 'x' }]), 'messages[0].content[0].video_url'],
    [
      'a detail that is none',
      user([{ type: 'image_url', image_url: { url: PNG, detail: 'bogus' } }]),
      'messages[0].content[0].image_url.detail',
    ],
    [
      'an unknown key of an image',
      user([{ type: 'image_url', image_url: { url: PNG, content_hash: 'a' } }]),
      'messages[0].content[0].image_url.content_hash',
    ],
    ['a part that is an address', user([imageOf(PNG), 'http://10.0.0.1/']), 'messages[0].content'],
    [
      'parameters that are no schema',
      { tools: [{ type: 'function', function: { name: 'f', parameters: 'x' } }] },
      'tools[0].function.parameters',
    ],
    ['a schema of a text', { response_format: { type: 'text', schema: {} } }, 'response_format.schema'],
    ['a schema that is none', { response_format: { type: 'json_object', schema: 'x' } }, 'response_format.schema'],
    ['functions of the older convention', { functions: [{ name: 'f' }] }, 'functions'],
    ['their choice', { function_call: 'auto' }, 'function_call'],
    ['other models in reserve', { models: ['m'] }, 'models'],
    [
      'an unknown key of a schema’s name',
      { response_format: { type: 'json_schema', json_schema: { name: 'n', regex: 'x' } } },
      'response_format.json_schema.regex',
    ],
    ['a tool call whose arguments are no text', aCallOf({ name: 'f', arguments: {} }), `${CALL}.function.arguments`],
    ['4,097 messages', { messages: new Array(4_097).fill({ role: 'user', content: 'x' }) }, 'messages'],
    ['4,097 parts in all', { messages: [textsOf(4_000), textsOf(97)] }, 'messages[1].content'],
    [
      '4,097 tool calls in all',
      { messages: new Array(3).fill({ role: 'assistant', tool_calls: new Array(1_366).fill({}) }) },
      'messages[2].tool_calls',
    ],
    [
      '45,001 tool calls',
      { messages: [{ role: 'assistant', tool_calls: new Array(45_001).fill({}) }] },
      CALL.slice(0, -3),
    ],
    ['17 images', user(Array.from({ length: 17 }, () => imageOf(PNG))), 'messages'],
  ])('%s', (_case, fields, param) => {
    expect(refusalOf(fields)).toMatchObject({ kind: 'invalid_request', param });
  });

  it.each([
    'cache_salt',
    'priority',
    'request_id',
    'chat_template',
    'mm_processor_kwargs',
    'media_io_kwargs',
    'prompt_embeds',
    'kv_transfer_params',
    'ec_transfer_params',
    'vllm_xargs',
    'best_of',
    'use_beam_search',
    'prompt_logprobs',
    'echo',
    'return_token_ids',
    'documents',
    'logits_processors',
    'api_base',
  ])('the engine-control key %s, however it is spelt', (name) => {
    expect(refusalOf({ [name]: 1 })).toMatchObject({ kind: 'invalid_request', param: name });
    const escaped = `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`;
    const text = `{"model":"a","messages":[{"role":"user","content":"x"}],"${escaped}":1}`;
    expect(faultOf(() => parseChatRequest(aJsonBody(text)))).toMatchObject({ param: name });
  });

  it.each([
    'file:///etc/passwd',
    'ftp://example.org/a.png',
    'gopher://example.org/a.png',
    '//example.org/a.png',
    ' https://example.org/a.png',
    'data:text/html;base64,AAAA',
    'data:image/svg+xml;base64,AAAA',
    'data:image/png,AAAA',
    'data:image/png;base64,%%',
  ])('an image at %s, in words that are the same for every image', (url) => {
    expect(refusalOf(user([imageOf(url)]))).toEqual({ kind: 'image_unusable' });
  });

  it('without being slow on hostile image addresses', () => {
    const hostile = ['A'.repeat(65_536), `${'A'.repeat(65_535)}%`, '='.repeat(65_536), '/+'.repeat(32_768)];
    const before = process.threadCpuUsage();
    for (const data of hostile) refusalOf(user([imageOf(`data:image/png;base64,${data}`)]));
    // The promise is 10 ms for each. Counted is what this thread computed, not what others had the processor for.
    expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(1_000);
  });

  it.each<[string, string]>([
    ['"temperature":1,"temperature":1', 'temperature'],
    ['"t\\u0065mperature":1,"temperature":1', 'temperature'],
    ['"metadata":{"a":[{"b":1,"b":2}]}', 'metadata.a[0].b'],
    [
      `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://10.0.0.1/","url":"${PNG}"}}]}]`,
      'messages[0].content[0].image_url.url',
    ],
    [
      '"tools":[{"type":"function","function":{"name":"f","parameters":{"a":1,"a":2}}}]',
      'tools[0].function.parameters.a',
    ],
  ])('a key that stands twice, as parsers differ in which they take: %s', (member, param) => {
    const messages = member.startsWith('"messages"') ? '' : '"messages":[{"role":"user","content":"x"}],';
    const text = `{"model":"m",${messages}${member}}`;
    expect(faultOf(() => parseChatRequest(aJsonBody(text)))).toEqual({ kind: 'body_key_repeated', param });
  });

  it('with the first problem alone: nothing behind it is looked at', () => {
    const looked: number[] = [];
    const calls = Array.from({ length: 100 }, (_, index) => ({
      get id() {
        looked.push(index);
        return index < 3 ? 'c' : undefined;
      },
      type: 'function',
      function: { name: 'f', arguments: '{}' },
    }));
    const value = { model: 'm', messages: [{ role: 'assistant', tool_calls: calls }] };
    const body = { ...aJsonBody('{}'), value };
    expect(faultOf(() => parseChatRequest(body))).toMatchObject({ param: 'messages[0].tool_calls[3].id' });
    expect(looked).toEqual([0, 1, 2, 3]);
  });

  it('never repeats a prompt in its message', () => {
    const refusal = refusalOf({ messages: [{ role: 'user', content: { secret: 'my secret' } }] });
    expect(JSON.stringify(refusal)).not.toContain('secret');
  });
});

describe('is accepted', () => {
  it.each<[string, object]>([
    ['one stop', { stop: 'END' }],
    ['four stops', { stop: ['a', 'b', 'c', 'd'] }],
    ['n = 1', { n: 1 }],
    ['logprobs: false', { logprobs: false, top_logprobs: false }],
    ['top_logprobs: 0', { top_logprobs: 0 }],
    ['a session of another gateway', { session_id: 'mine' }],
    ['a negative seed', { seed: -1 }],
    ['every role', { messages: ['system', 'developer', 'user'].map((role) => ({ role, content: 'x' })) }],
    [
      'a tool conversation',
      {
        tools,
        messages: [
          { role: 'user', content: 'x' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: '1' }] },
        ],
      },
    ],
    ['tool_choice none without tools', { tool_choice: 'none' }],
    ['a named tool', { tools, tool_choice: { type: 'function', function: { name: 'look_up' } } }],
    ['enable_thinking', { chat_template_kwargs: { enable_thinking: false } }],
    ['an image to fetch', user([imageOf('https://example.org/a.png')])],
    ['a JPEG under the name that is no media type', user([imageOf(PNG.replace('png', 'jpg'))])],
    ['an image to fetch, its address alone', user([{ type: 'image_url', image_url: 'HTTP://example.org/a.png' }])],
    ['an unknown field', { top_k: 40, metadata: { priority: 1 } }],
    ['a user of 1 MB', { user: 'x'.repeat(1_048_576) }],
    ['a text of 1 MB', user('x'.repeat(1_048_576))],
    ['the outermost values', { temperature: 2, top_p: 0, presence_penalty: -2, frequency_penalty: 2 }],
    [
      'an engine-control word inside the schema of a tool',
      { tools: [{ type: 'function', function: { name: 'f', parameters: { priority: 1, echo: true } } }] },
    ],
    [
      'an engine-control word inside a schema',
      { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { priority: 1 } } } },
    ],
    ['an engine-control word inside a text', { messages: [{ role: 'user', content: 'priority' }] }],
    ['a detail of an image', user([{ type: 'image_url', image_url: { url: PNG, detail: 'low' } }])],
    ['a name', { messages: [{ role: 'user', content: 'x', name: 'Ada' }] }],
    [
      'an answer that is sent back as clients keep it',
      {
        messages: [
          {
            role: 'assistant',
            content: 'x',
            refusal: null,
            annotations: [],
            audio: null,
            function_call: null,
            tool_calls: [],
            reasoning: 'because',
            reasoning_content: null,
            parsed: null,
            provider_specific_fields: { refusal: null },
          },
        ],
      },
    ],
    ['what clients add for other services', user([{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }])],
    ['4,096 messages', { messages: new Array(4_096).fill({ role: 'user', content: 'x' }) }],
    [
      '4,096 parts in all',
      { messages: new Array(2).fill({ role: 'user', content: new Array(2_048).fill(textOf('x')) }) },
    ],
  ])('%s', (_case, fields) => {
    expect(refusalOf(fields)).toBeUndefined();
  });

  it.each([
    'temperature',
    'top_p',
    'presence_penalty',
    'frequency_penalty',
    'stop',
    'seed',
    'user',
    'max_tokens',
    'max_completion_tokens',
    'stream',
    'stream_options',
    'tools',
    'tool_choice',
    'response_format',
    'n',
    'logprobs',
    'top_logprobs',
    'chat_template_kwargs',
    'priority',
    'functions',
    'models',
    'session_id',
  ])('an explicit null for %s, as absence', (name) => {
    expect(refusalOf({ [name]: null })).toBeUndefined();
  });
});

it.each<[object, object]>([
  [{}, { isStream: false, includeUsage: false, requestedOutputTokens: undefined, isToolForced: false }],
  [{ stream: true }, { isStream: true, includeUsage: false }],
  [
    { stream: true, stream_options: { include_usage: true } },
    { isStream: true, includeUsage: true },
  ],
  [{ max_tokens: 5 }, { requestedOutputTokens: 5 }],
  [{ max_tokens: 5, max_completion_tokens: 7 }, { requestedOutputTokens: 7 }],
  [{ tools }, { isToolForced: false }],
  [{ tools: [] }, { isToolForced: false }],
  [{ tools, tool_choice: 'required' }, { isToolForced: true }],
  [{ tools, tool_choice: { type: 'function', function: { name: 'f' } } }, { isToolForced: true }],
  [
    user([imageOf(PNG), imageOf(PNG), { type: 'text', text: 'x' }]),
    { prompt: expect.objectContaining({ images: 2, imageBytes: PNG.length * 2 }) },
  ],
])('reads %j', (fields, expected) => {
  expect(aChatRequest(fields)).toMatchObject(expected);
});

it('asks an engine to count images that are at hand, and never one that it would have to fetch', () => {
  const remote = imageOf('https://example.org/a.png');
  const request = aChatRequest(user([imageOf(PNG), remote, { ...remote, image_url: 'https://example.org/a.png' }]));
  expect(request.images.urls).toEqual([PNG, 'https://example.org/a.png', 'https://example.org/a.png']);
  expect(request.prompt).toMatchObject({ images: 3 });
  const nothing = { type: 'text', text: '' };
  expect(request.tokenizeQuestions()).toEqual([
    expect.objectContaining({ messages: [{ role: 'user', content: [imageOf(PNG), nothing, nothing] }] }),
  ]);
});

it('counts a text that poses as an image as text, against the limit on text', () => {
  const posing = `${PNG.slice(0, -1)}A${'A'.repeat(5 * 1_048_576)}`;
  expect(refusalOf(user(posing))).toMatchObject({ kind: 'body_text_too_large' });
  expect(refusalOf(user([imageOf(posing)]))).toBeUndefined();
});

const seedOf = (digits: string) =>
  faultOf(() =>
    parseChatRequest(aJsonBody(`{"model":"m","messages":[{"role":"user","content":"x"}],"seed": ${digits} }`)),
  );

it.each(['9223372036854775807', '-9223372036854775808', '0', '-0', '1.0', '1e3', 'null'])(
  'takes the seed %s, which fits 64 bits',
  (digits) => {
    expect(seedOf(digits)).toBeUndefined();
  },
);

it.each(['9223372036854775808', '-9223372036854775809', '18446744073709551616', '1e400', '1e30'])(
  'refuses the seed %s, which does not fit 64 bits, and names it',
  (digits) => {
    expect(seedOf(digits)).toMatchObject({ kind: 'invalid_request', param: 'seed' });
  },
);

describe('a schema on a model', () => {
  const format = { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {} } } };
  it.each<[string, object, string[], string | undefined]>([
    ['that cannot keep to it falls back to json_object', format, [], 'json_object_fallback'],
    ['that can stays', format, ['json_schema'], undefined],
    [
      'with json_object falls back, too',
      { response_format: { type: 'json_object', schema: {} } },
      [],
      'json_object_fallback',
    ],
    ['nobody asked for is none', { response_format: { type: 'json_object' } }, [], undefined],
  ])('%s', (_case, fields, supportedFeatures, fallback) => {
    expect(aChatRequest(fields).formFor(aPricedModel({ supportedFeatures })).fallback).toBe(fallback);
  });
});

const schema = (strict: boolean) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {}, strict } },
});

describe('against the model', () => {
  const image = user([imageOf(PNG)]);
  it.each<[string, object, Parameters<typeof aPricedModel>[0], string | undefined]>([
    ['a model that makes no text', {}, { category: 'embeddings' }, 'model'],
    ['a model of images', {}, { category: 'image' }, 'model'],
    ['a model of audio', {}, { category: 'audio' }, 'model'],
    ['a model of video', {}, { category: 'video' }, 'model'],
    ['tools on a model without them', { tools }, { supportedFeatures: [] }, 'tools'],
    ['tools on a model with them', { tools }, { supportedFeatures: ['tools'] }, undefined],
    ['images on a model without them', image, { inputModalities: ['text'] }, 'messages'],
    ['images on a model with them', image, { inputModalities: ['text', 'image'] }, undefined],
    ['a strict schema on a model without', schema(true), { supportedFeatures: [] }, 'response_format'],
    ['a strict schema on a model with schemas', schema(true), { supportedFeatures: ['json_schema'] }, undefined],
    ['another schema on a model without', schema(false), { supportedFeatures: [] }, undefined],
  ])('%s', (_case, fields, model, param) => {
    const fault = faultOf(() => aChatRequest(fields).checkModel(aPricedModel(model), () => []));
    expect((fault as { param?: string } | undefined)?.param).toBe(param);
  });
});

it('names five models at most that have what a model lacks, of those that serve text', () => {
  const served = [
    aPricedModel({ id: 'embedder', category: 'embeddings', supportedFeatures: ['tools'] }),
    aPricedModel({ id: 'plain', supportedFeatures: [] }),
    ...Array.from({ length: 9 }, (_, index) => aPricedModel({ id: `able-${index}`, supportedFeatures: ['tools'] })),
  ];
  const refusal = faultOf(() =>
    aChatRequest({ tools }).checkModel(aPricedModel({ id: 'm', supportedFeatures: [] }), () => served),
  );
  const named = 'able-0, able-1, able-2, able-3, able-4';
  expect(refusal).toMatchObject({ message: `m does not support tools; models that do: ${named}` });
});
