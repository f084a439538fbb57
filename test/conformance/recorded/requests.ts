import { expect } from '@jest/globals';
import { type Answer, createClient } from '../support/http.ts';
import {
  client,
  EMBEDDING_MODEL,
  engine,
  MODEL,
  PLAIN_MODEL,
  SERVED_MODELS,
  stack,
  VISION_MODEL,
} from '../support/recordedStack.ts';
import { row } from '../support/row.ts';
import { invalid, PNG, wrapped } from '../support/shapes.ts';
import { DISABLED_MODEL, MODEL_WITHOUT_CACHE, UNCLEARED_MODEL } from '../support/writeCatalogFile.ts';

const ALIAS = 'llama-3.3-70b';
/** Models of images, audio and video: the catalog has them, and no text operation serves them. */
const MEDIA_MODELS = ['flux.1-schnell', 'whisper-large-v3', 'wan2.2-t2v-a14b'];
const TOOLS = [{ type: 'function', function: { name: 'forecast', parameters: { type: 'object' } } }];
const SCHEMA_FORMAT = { type: 'json_schema', json_schema: { name: 'lake', schema: { type: 'object' } } };

const aChat = (fields: object = {}) => ({ model: MODEL, messages: [{ role: 'user', content: 'hi' }], ...fields });
const withParts = (...parts: object[]) => ({ messages: [{ role: 'user', content: parts }] });
const image = (url: string) => ({ type: 'image_url', image_url: { url } });
const post = (fields: object): Promise<Answer> => client.post('/chat/completions', aChat(fields));

/** Asserts that a chat is answered, and gives the body that the engine got. */
async function sent(fields: object): Promise<Record<string, unknown>> {
  const before = engine.count();
  const { status, text } = await post(fields);
  expect({ fields, status, text }).toEqual({ fields, status: 200, text: expect.any(String) });
  expect(engine.count()).toBe(before + 1);
  return engine.lastBody();
}

/** Asserts that fields reach the engine unchanged. */
async function expectPassedOn(fields: object): Promise<void> {
  expect(await sent(fields)).toMatchObject(fields);
}

/** Asserts the 400 of a field that cannot be served, and that no engine has heard of it. */
async function expectRefused(fields: object, param: unknown): Promise<void> {
  const before = engine.count();
  const { status, body } = await post(fields);
  expect({ fields, status, body }).toEqual({ fields, status: 400, body: invalid(param) });
  expect(engine.count()).toBe(before);
}

row('request.model.id', async () => {
  expect(await sent({})).toMatchObject({ model: MODEL });
});

row('request.model.alias', async () => {
  expect(await sent({ model: ALIAS })).toMatchObject({ model: MODEL });
});

row('request.messages', async () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'forecast', arguments: '{"city": "Zürich"}' } };
  const messages = [
    { role: 'system', content: 'Sei höflich.' },
    { role: 'user', content: 'Quel temps ? 天気 😀', name: 'anna' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', content: '{"rain": true}', tool_call_id: 'call_1' },
  ];
  expect((await sent({ messages, tools: TOOLS })).messages).toEqual(messages);
});

row('request.messages.developer', async () => {
  const { messages } = await sent({
    messages: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'hi' },
    ],
  });
  expect(messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'hi' },
  ]);
});

row('request.messages.parts', async () => {
  const asked = withParts({ type: 'text', text: 'What is this?' }, image(PNG));
  expect(await sent({ model: VISION_MODEL, ...asked })).toMatchObject(asked);
  const refused = { role: 'assistant', content: [{ type: 'refusal', refusal: 'I will not.' }] };
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'a' }] }, refused, { role: 'user', content: 'b' }];
  // Only some engines know a refusal; others print its text.
  const written = { role: 'assistant', content: [{ type: 'text', text: 'I will not.' }] };
  expect((await sent({ messages })).messages).toEqual(messages.with(1, written));
});

row('request.messages.other-parts', async () => {
  for (const part of [
    { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    { type: 'audio_url', audio_url: { url: 'https://example.com/a.wav' } },
    { type: 'file', file: { file_id: 'file-1' } },
    { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
    { type: 'image_embeds', image_embeds: 'AAAA' },
  ]) {
    await expectRefused({ model: VISION_MODEL, ...withParts(part) }, expect.stringMatching(/^messages/));
  }
});

row('request.messages.images-at-most-16', async () => {
  const images = Array.from({ length: 17 }, () => image(PNG));
  await expectRefused({ model: VISION_MODEL, ...withParts(...images) }, expect.stringMatching(/^messages/));
  await sent({ model: VISION_MODEL, ...withParts(...images.slice(1)) });
});

row('request.messages.image-without-vision', async () => {
  await expectRefused(withParts(image(PNG)), 'messages');
});

row('request.messages.image-unfetchable', async () => {
  const urls = [
    'ftp://example.com/cat.png',
    'file:///etc/hostname',
    'http://127.0.0.1:9/cat.png',
    'http://[::1]:9/cat.png',
    'https://no-such-host.invalid/cat.png',
    'data:text/plain;base64,aGk=',
  ];
  const answers = await Promise.all(urls.map((url) => post({ model: VISION_MODEL, ...withParts(image(url)) })));
  expect(answers.map(({ status }) => status)).toEqual(urls.map(() => 400));
  expect(answers[0]?.body).toEqual(invalid(expect.stringMatching(/^messages/)));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
});

row('request.temperature', () => expectPassedOn({ temperature: 0.25 }));
row('request.top_p', () => expectPassedOn({ top_p: 0.75 }));

row('request.stop', async () => {
  await expectPassedOn({ stop: '\n' });
  await expectPassedOn({ stop: ['\n', 'END'] });
});

row('request.seed', async () => {
  await expectPassedOn({ seed: 7 });
  const digits = '9007199254740993';
  const text = JSON.stringify(aChat({ seed: 0 })).replace('"seed":0', `"seed":${digits}`);
  expect((await client.post('/chat/completions', text)).status).toBe(200);
  expect(engine.lastText()).toMatch(new RegExp(`"seed":\\s*${digits}[,}]`));
});

row('request.penalties', () => expectPassedOn({ presence_penalty: 0.5, frequency_penalty: -0.5 }));

row('request.user', async () => {
  await sent({ user: 'anna' });
});

row('request.max_tokens', () => expectPassedOn({ max_tokens: 123 }));

row('request.max_completion_tokens', async () => {
  expect(await sent({ max_completion_tokens: 77 })).toMatchObject({ max_tokens: 77 });
  expect(await sent({ max_completion_tokens: 78, max_tokens: 500 })).toMatchObject({ max_tokens: 78 });
});

row('request.stream', async () => {
  const typeOf = async (fields: object) => (await post(fields)).headers.get('content-type');
  expect(await typeOf({ stream: true })).toMatch(/^text\/event-stream/);
  expect(engine.lastBody()).toMatchObject({ stream: true });
  for (const fields of [{ stream: false }, { stream: null }, {}]) {
    expect(await typeOf(fields)).toMatch(/^application\/json/);
    expect(engine.lastBody().stream ?? false).toBe(false);
  }
});

row('request.stream_options.without-stream', () =>
  expectRefused({ stream_options: { include_usage: true } }, 'stream_options'),
);

row('request.tools', async () => {
  const named = { type: 'function', function: { name: 'forecast' } };
  for (const choice of ['auto', 'none', 'required', named]) {
    await expectPassedOn({ tools: TOOLS, tool_choice: choice });
  }
});

row('request.tools.unsupported', () => expectRefused({ model: PLAIN_MODEL, tools: TOOLS }, 'tools'));
row('request.tools.forced-without-tools', () => expectRefused({ tool_choice: 'required' }, 'tool_choice'));

row('request.response_format.json_object', () => expectPassedOn({ response_format: { type: 'json_object' } }));
row('request.response_format.json_schema', () => expectPassedOn({ response_format: SCHEMA_FORMAT }));

row('request.response_format.fallback', async () => {
  const { response_format: format } = await sent({ model: PLAIN_MODEL, response_format: SCHEMA_FORMAT });
  expect(format).toEqual({ type: 'json_object' });
});

row('request.response_format.unknown', () =>
  expectRefused({ response_format: { type: 'grammar' } }, expect.stringMatching(/^response_format/)),
);

row('request.logprobs', async () => {
  await expectRefused({ logprobs: true }, 'logprobs');
  await sent({ logprobs: false });
  await sent({ logprobs: null });
});

row('request.top_logprobs', async () => {
  await expectRefused({ top_logprobs: 3 }, 'top_logprobs');
  await sent({ top_logprobs: null });
});

row('request.n.above-1', () => expectRefused({ n: 2 }, 'n'));

row('request.n.one', async () => {
  await sent({ n: 1 });
  await sent({ n: null });
});

row('request.null', async () => {
  const names = [
    ...['temperature', 'top_p', 'stop', 'seed', 'user', 'max_tokens', 'max_completion_tokens', 'stream'],
    ...['stream_options', 'tools', 'tool_choice', 'response_format', 'presence_penalty', 'frequency_penalty'],
    ...['logprobs', 'top_logprobs', 'n', 'top_k', 'metadata'],
  ];
  const body = await sent(Object.fromEntries(names.map((name) => [name, null])));
  expect(names.filter((name) => body[name] === null)).toEqual([]);
});

row('request.unknown-fields', () =>
  expectPassedOn({ top_k: 20, min_p: 0.1, repetition_penalty: 1.1, metadata: { team: 'ärzte' }, brand_new: [1, {}] }),
);

const ENGINE_CONTROL = [
  ...['cache_salt', 'priority', 'request_id', 'chat_template', 'mm_processor_kwargs', 'media_io_kwargs'],
  ...['prompt_embeds', 'kv_transfer_params', 'ec_transfer_params', 'vllm_xargs', 'best_of', 'use_beam_search'],
  ...['prompt_logprobs', 'echo', 'return_token_ids', 'documents', 'logits_processors', 'api_base'],
];

row('request.engine-control', async () => {
  for (const name of ENGINE_CONTROL) await expectRefused({ [name]: 1 }, name);
});

row('request.engine-control.inside', async () => {
  const steering = Object.fromEntries(ENGINE_CONTROL.map((name) => [name, { type: 'string' }]));
  const fields = {
    messages: [{ role: 'user', content: ENGINE_CONTROL.join(' ') }],
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: steering } } }],
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'x', schema: { type: 'object', properties: steering } },
    },
    metadata: steering,
  };
  await expectPassedOn(fields);
});

row('request.written-anew', async () => {
  const withPart = (part: object) => ({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'x', ...part }] }],
  });
  const address = 'http://169.254.169.254/';
  await expectRefused(withPart({ video_url: address }), 'messages[0].content[0].video_url');
  await expectRefused(withPart({ image_url: null, uuid: 'another’s' }), 'messages[0].content[0].uuid');
  const choice = { type: 'function', function: { name: 'f' }, input_audio: {} };
  await expectRefused({ tools: TOOLS, tool_choice: choice }, 'tool_choice.input_audio');
  await expectRefused({ response_format: { type: 'json_object', structures: [] } }, 'response_format.structures');
});

row('request.repeated-key', async () => {
  const question = `"model":"${MODEL}","messages":[{"role":"user","content":"hi"}]`;
  for (const [twice, param] of [
    ['"temperature":1,"temperature":1', 'temperature'],
    ['"metadata":{"a":[{"b":1,"\\u0062":2}]}', 'metadata.a[0].b'],
  ]) {
    const before = engine.count();
    const { status, body } = await client.post('/chat/completions', `{${question},${twice}}`);
    expect({ twice, status, body }).toEqual({ twice, status: 400, body: invalid(param) });
    expect(engine.count()).toBe(before);
  }
});

row('request.sent-back', async () => {
  const { body } = await post({});
  const { message } = (body as { choices: [{ message: { content: string; tool_calls: unknown } }] }).choices[0];
  const kept = { refusal: null, annotations: [], audio: null, function_call: null, parsed: null, ...message };
  const [question, more] = [
    { role: 'user', content: 'hi' },
    { role: 'user', content: 'Go on' },
  ];
  expect((await sent({ messages: [question, kept, more] })).messages).toEqual([
    question,
    { role: 'assistant', content: message.content, tool_calls: message.tool_calls },
    more,
  ]);
});

row('request.chat_template_kwargs', async () => {
  await expectPassedOn({ chat_template_kwargs: { enable_thinking: false } });
  const fields = { chat_template_kwargs: { enable_thinking: false, add_generation_prompt: false } };
  await expectRefused(fields, expect.stringMatching(/^chat_template_kwargs/));
});

row('request.output-bound', async () => {
  expect(await sent({})).toMatchObject({ max_tokens: 2048 });
  expect(await sent({ max_tokens: 9000 })).toMatchObject({ max_tokens: 2048 });
});

row('request.output-bound.stream', async () => {
  expect(await sent({ stream: true, max_tokens: 9000 })).toMatchObject({ max_tokens: 9000 });
});

row('request.output-bound.model', async () => {
  expect(await sent({ stream: true, max_tokens: 100_000 })).toMatchObject({ max_tokens: 16_384 });
});

row('request.wrong-category', async () => {
  await expectRefused({ model: EMBEDDING_MODEL }, 'model');
  const completion = await client.post('/completions', { model: EMBEDDING_MODEL, prompt: 'hi' });
  expect(completion).toMatchObject({ status: 400, body: invalid('model') });
  const embedding = await client.post('/embeddings', { model: MODEL, input: 'hi' });
  expect(embedding).toMatchObject({ status: 400, body: invalid('model') });
  for (const model of MEDIA_MODELS) {
    await expectRefused({ model }, 'model');
    for (const [path, fields] of [
      ['/completions', { prompt: 'hi' }],
      ['/embeddings', { input: 'hi' }],
    ] as const) {
      const answer = await client.post(path, { model, ...fields });
      expect(answer).toMatchObject({ status: 400, body: invalid('model') });
    }
  }
});

row('request.invalid-values', async () => {
  for (const [fields, param] of [
    [{ model: 7 }, 'model'],
    [{ model: undefined }, 'model'],
    [{ messages: undefined }, 'messages'],
    [{ messages: [] }, 'messages'],
    [{ messages: 'hi' }, 'messages'],
    [{ temperature: 'hot' }, 'temperature'],
    [{ temperature: 2.5 }, 'temperature'],
    [{ top_p: 1.5 }, 'top_p'],
    [{ max_tokens: 0 }, 'max_tokens'],
    [{ max_tokens: 1.5 }, 'max_tokens'],
    [{ stop: 7 }, 'stop'],
    [{ seed: 'x' }, 'seed'],
    [{ presence_penalty: 3 }, 'presence_penalty'],
    [{ frequency_penalty: -3 }, 'frequency_penalty'],
    [{ stream: 'yes' }, 'stream'],
    [{ user: 7 }, 'user'],
    [{ tools: TOOLS, tool_choice: 'sometimes' }, 'tool_choice'],
  ] as const) {
    await expectRefused(fields, param);
  }
});

/** Asks while the engine answers with an error of its own. */
async function askRefusing(status: number, fields: object = {}): Promise<Answer> {
  engine.reply({
    status,
    body: { error: { message: 'Engine words.', type: 'x', param: 'top_k', code: status, ...fields } },
  });
  try {
    return await post({});
  } finally {
    engine.reply();
  }
}

row('request.engine-400', async () => {
  const { status, body } = await askRefusing(400);
  expect({ status, body }).toEqual({
    status: 400,
    body: { error: { message: 'Engine words.', type: 'invalid_request_error', param: 'top_k', code: null } },
  });
});

row('request.engine-422-501', async () => {
  for (const engineStatus of [422, 501]) {
    const { status, body } = await askRefusing(engineStatus);
    expect({ engineStatus, status, body }).toEqual({ engineStatus, status: 400, body: invalid('top_k') });
  }
});

row('request.engine-401-403-404', async () => {
  for (const engineStatus of [401, 403, 404]) {
    const { status, text } = await askRefusing(engineStatus);
    expect({ engineStatus, status }).toEqual({ engineStatus, status: 500 });
    expect(text).not.toContain('Engine words');
  }
});

const errorBody = (type: string, code: string) => ({
  error: expect.objectContaining({ message: expect.any(String), type, code }),
});
const poor = async () => createClient(stack.baseUrl, await stack.operator.makeFundedKey({}, {}));

row('errors.404.no-capacity', async () => {
  const { status, body } = await post({ model: 'qwen3-32b' });
  expect({ status, body }).toEqual({ status: 404, body: errorBody('invalid_request_error', 'model_deactivated') });
});

row('errors.404.uncleared', async () => {
  const uncleared = await post({ model: UNCLEARED_MODEL });
  const meant = { did_you_mean: expect.not.arrayContaining([UNCLEARED_MODEL]) };
  expect(uncleared).toMatchObject({ status: 404, body: wrapped(404, 'unknown_model', meant) });
  const misspelt = await post({ model: `${UNCLEARED_MODEL}x` });
  expect(misspelt.text.replaceAll(`${UNCLEARED_MODEL}x`, '')).not.toContain(UNCLEARED_MODEL);
  const [entry, nobodys] = [await client.get(`/models/${UNCLEARED_MODEL}`), await client.get('/models/no-such-model')];
  const guesses = /"did_you_mean":\[[^\]]*\]/;
  expect(entry.text.replace(guesses, '')).toBe(nobodys.text.replace(guesses, ''));
  expect(entry.text).not.toContain(UNCLEARED_MODEL);
});

row('errors.404.not-listed', async () => {
  const { data } = (await client.get('/models')).body as { data: { id: string }[] };
  const ids = data.map(({ id }) => id).sort();
  expect(ids).toEqual(SERVED_MODELS.toSorted());
});

row('gates.503-before-402', async () => {
  const { status, body } = await (await poor()).post('/chat/completions', aChat({ model: DISABLED_MODEL }));
  expect({ status, body }).toEqual({ status: 503, body: errorBody('service_unavailable', 'model_deactivated') });
});

row('answer.usage.no-cache', async () => {
  const cacheless = (await post({ model: MODEL_WITHOUT_CACHE })).body as { usage: object };
  expect(cacheless.usage).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: 0 });
  const cached = (await post({})).body as { usage: object };
  expect(cached.usage).toMatchObject({ cache_read_input_tokens: 16, cache_creation_input_tokens: 4 });
});

row('answer.system_fingerprint', async () => {
  for (const stream of [false, true]) {
    const answers = [await post({ stream }), await client.post('/completions', { model: MODEL, prompt: 'hi', stream })];
    for (const { status, text } of answers) {
      expect(status).toBe(200);
      expect(text).not.toContain('fingerprint');
    }
  }
});

row('completions.fields', async () => {
  const fields = { prompt: 'Écris : 天気', max_tokens: 9, temperature: 0.5, stream: true };
  expect((await client.post('/completions', { model: ALIAS, ...fields })).status).toBe(200);
  expect(engine.lastBody()).toMatchObject({ model: MODEL, ...fields });
});

row('completions.default-16', async () => {
  expect((await client.post('/completions', { model: MODEL, prompt: 'hi' })).status).toBe(200);
  expect(engine.lastBody()).toMatchObject({ max_tokens: 16 });
});
