import { expect } from '@jest/globals';
import { type Answer, createClient } from '../support/http.ts';
import { client, EMBEDDING_MODEL, engine, MODEL, PLAIN_MODEL, stack, VISION_MODEL } from '../support/recordedStack.ts';
import { row } from '../support/row.ts';
import { envelope, invalid, PNG } from '../support/shapes.ts';

type Path = '/chat/completions' | '/completions' | '/embeddings';

const FIELDS: Record<Path, object> = {
  '/chat/completions': { model: MODEL, messages: [{ role: 'user', content: 'hi' }] },
  '/completions': { model: MODEL, prompt: 'hi' },
  '/embeddings': { model: EMBEDDING_MODEL, input: 'hi' },
};
const PATHS = Object.keys(FIELDS) as Path[];
const post = (path: Path, fields: object): Promise<Answer> => client.post(path, { ...FIELDS[path], ...fields });

/** Asserts that a request is answered, and gives the body that the engine got. */
async function sentTo(path: Path, fields: object): Promise<Record<string, unknown>> {
  const before = engine.count();
  const { status, text } = await post(path, fields);
  expect({ fields, status, text }).toEqual({ fields, status: 200, text: expect.any(String) });
  expect(engine.count()).toBe(before + 1);
  return engine.lastBody();
}
const sent = (fields: object) => sentTo('/chat/completions', fields);

/** Asserts the 400 of a field that cannot be served, and that no engine has heard of it; gives its message. */
async function refusedBy(path: Path, fields: object, param: string): Promise<string> {
  const before = engine.count();
  const { status, body } = await post(path, fields);
  expect({ fields, status, body }).toEqual({ fields, status: 400, body: invalid(param) });
  expect(engine.count()).toBe(before);
  return (body as { error: { message: string } }).error.message;
}
const refused = (fields: object, param: string) => refusedBy('/chat/completions', fields, param);

const user = (content: unknown, fields: object = {}) => ({ messages: [{ role: 'user', content, ...fields }] });
const aTool = (fields: object = {}) => ({ type: 'function', function: { name: 'f' }, ...fields });
const aCall = (fields: object = {}) => ({
  id: 'c',
  type: 'function',
  function: { name: 'f', arguments: '{}' },
  ...fields,
});
/** A conversation with a tool call and its answer. */
const called = (call: object, answer: object = { content: '1' }) => ({
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c', ...answer },
  ],
});

const DATA = PNG.slice(PNG.indexOf(',') + 1);
/** An image of more bytes than are written again: the PNG, and a chunk of text in it. */
const LONG_DATA = (() => {
  const png = Buffer.from(DATA, 'base64');
  const end = png.length - 12;
  const text = Buffer.alloc(30_000, 'x');
  const size = Buffer.alloc(4);
  size.writeUInt32BE(text.length);
  return Buffer.concat([png.subarray(0, end), size, Buffer.from('tEXt'), text, size, png.subarray(end)]).toString(
    'base64',
  );
})();
const imageOf = (url: string, fields: object = {}) => ({
  model: VISION_MODEL,
  ...user([{ type: 'image_url', image_url: { url, ...fields } }]),
});
const imageIn = (body: Record<string, unknown>): unknown => {
  const [{ content }] = body.messages as [{ content: [{ image_url: object }] }];
  return content[0].image_url;
};

row('request.data-url', async () => {
  for (const data of [DATA, LONG_DATA]) {
    for (const head of [
      'data:image/png;base64',
      'data:image/png;charset=utf-8;base64',
      'data:image/png;name=a.png;base64',
      'data:image/png; charset=utf-8; name="a";base64',
      'data:image/PNG;base64',
      'DATA:image/png;base64',
      'Data:IMAGE/Png;base64',
      'data:application/octet-stream;base64',
      'data:;base64',
      'data:;charset=US-ASCII;base64',
      'data:image/pjpeg;base64',
      'data:image/jpg;base64',
      'data:image/x-png;base64',
      'data:image/*;base64',
      'data:text/html;base64',
    ]) {
      const image = { url: `data:image/png;base64,${data}` };
      expect({ head, image: imageIn(await sent(imageOf(`${head},${data}`))) }).toEqual({ head, image });
    }
  }
  const alone = { model: VISION_MODEL, ...user([{ type: 'image_url', image_url: `data:;base64,${LONG_DATA}` }]) };
  expect(imageIn(await sent(alone))).toEqual({ url: `data:image/png;base64,${LONG_DATA}` });
  const escaped = JSON.stringify({ ...FIELDS['/chat/completions'], ...imageOf(`data:IMAGE/png;base64,${LONG_DATA}`) });
  for (const comma of [',', '\\u002c']) {
    const text = escaped.replaceAll('/', '\\/').replace('base64,', `base64${comma}`);
    expect((await client.post('/chat/completions', text)).status).toBe(200);
    expect(imageIn(engine.lastBody())).toEqual({ url: `data:image/png;base64,${LONG_DATA}` });
  }
});

row('request.data-url.refused', async () => {
  const half = DATA.length / 2;
  const within = (odd: string) => `data:image/png;base64,${DATA.slice(0, half)}${odd}${DATA.slice(half)}`;
  const before = engine.count();
  for (const url of [
    ...[' ', '\n', '\r\n', '%0A', '%2B', '-_-_', '='].map(within),
    `data:image/png,${DATA}`,
    `data:image/png;BASE64,${DATA}`,
    `data:image/png;base64;charset=utf-8,${DATA}`,
    `data:base64,${DATA}`,
    `data:image/png;base64${DATA}`,
    `data:image/png;base64,${Buffer.from('<svg/>').toString('base64')}`,
    `data:image/png;base64,${encodeURIComponent(DATA)}`,
    'data:image/png;base64,',
    'data:',
  ]) {
    const { status, body } = await post('/chat/completions', imageOf(url));
    expect({ url, status, body }).toEqual({ url, status: 400, body: invalid('messages') });
  }
  expect(engine.count()).toBe(before);
});

row('request.image-detail', async () => {
  for (const detail of ['auto', 'low', 'high'])
    expect(imageIn(await sent(imageOf(PNG, { detail })))).toEqual({ url: PNG, detail });
  expect(imageIn(await sent(imageOf(PNG, { detail: 'original' })))).toEqual({ url: PNG, detail: 'high' });
  await refused(imageOf(PNG, { detail: 'bogus' }), 'messages[0].content[0].image_url.detail');
});

row('request.top_p.zero', async () => {
  for (const path of ['/chat/completions', '/completions'] as const) {
    const { top_p: least } = await sentTo(path, { top_p: 0 });
    expect(least).toBeGreaterThan(0);
    expect(least).toBeLessThan(1e-6);
  }
});

row('request.null.inside', async () => {
  for (const fields of [
    user('hi', { tool_calls: null }),
    user('hi', { tool_call_id: null, function_call: null, refusal: null, audio: null, name: null, x: null }),
    user([{ type: 'text', text: 'hi', image_url: null }]),
    user([{ type: 'text', text: 'hi', cache_control: null, x: null }]),
    {
      model: VISION_MODEL,
      ...user([{ type: 'image_url', image_url: { url: PNG, detail: null, x: null }, text: null }]),
    },
    {
      messages: [
        { role: 'assistant', content: 'a', tool_calls: null, x: null },
        { role: 'user', content: 'hi' },
      ],
    },
    called(aCall({ custom: null, x: null })),
    called(aCall({ function: { name: 'f', arguments: '{}', x: null } })),
    { tools: [aTool({ custom: null })] },
    { tools: [aTool({ function: { name: 'f', description: null, parameters: null, strict: null, x: null } })] },
    { tools: [aTool()], tool_choice: { type: 'function', function: { name: 'f', x: null }, custom: null } },
    { response_format: { type: 'text', json_schema: null } },
    { response_format: { type: 'json_object', schema: null } },
    { response_format: { type: 'json_schema', schema: null, json_schema: { name: 'n', schema: {}, x: null } } },
    { chat_template_kwargs: { enable_thinking: null, x: null } },
    { stream: true, stream_options: { include_usage: null, x: null } },
    { functions: null, models: null, session_id: null, cache_salt: null },
  ]) {
    const body = await sent(fields);
    // An assistant without a text has a content of null.
    expect(JSON.stringify(body).replaceAll('"content":null', '')).not.toContain('null');
  }
  await refusedBy('/embeddings', { encoding_format: null }, 'encoding_format');
});

row('request.dropped', async () => {
  const odd = { id: 'm', agent: 'a', is_error: false, metadata: { a: 1 }, timestamp: 1, task: 'y', tool_name: 't' };
  const { messages } = called(aCall());
  const answered = await sent({
    tools: [aTool()],
    messages: messages.map((message) => ({
      ...message,
      ...odd,
      ...('tool_calls' in message && {
        tool_calls: [aCall({ thought_signature: 'x', audio_url: 'x', function: { ...aCall().function, x: 1 } })],
      }),
    })),
  });
  expect(answered.messages).toEqual(messages);
  const { tools } = await sent({ tools: [aTool({ defer_loading: true, function: { name: 'f', echo: 1 } })] });
  expect(tools).toEqual([aTool()]);
});

row('request.tool-call-defaults', async () => {
  const { messages } = called(aCall(), { content: '' });
  const { type: _type, ...untyped } = aCall();
  for (const [call, answer] of [
    [untyped, { content: '' }],
    [aCall({ type: null }), { content: null }],
    [aCall({ function: { name: 'f', arguments: null } }), {}],
    [aCall({ function: { name: 'f' } }), { content: '' }],
  ] as const)
    expect((await sent(called(call, answer))).messages).toEqual(messages);
  await refused(called(aCall({ type: 'custom' })), 'messages[1].tool_calls[0].type');
  await refused(
    called(aCall({ function: { name: 'f', arguments: {} } })),
    'messages[1].tool_calls[0].function.arguments',
  );
});

row('request.top_logprobs.zero', async () => {
  expect(await sent({ top_logprobs: 0 })).not.toHaveProperty('top_logprobs');
  expect(await sent({ top_logprobs: 0, logprobs: false })).not.toHaveProperty('top_logprobs');
  await refused({ top_logprobs: 0, logprobs: true }, 'logprobs');
  await refused({ top_logprobs: 1 }, 'top_logprobs');
});

row('request.stop.empty', async () => {
  for (const path of ['/chat/completions', '/completions'] as const) {
    expect(await refusedBy(path, { stop: '' }, 'stop')).toMatch(/^stop /);
    expect(await refusedBy(path, { stop: ['END', ''] }, 'stop[1]')).toMatch(/^stop\[1\] /);
  }
});

row('request.session_id', async () => {
  for (const path of PATHS) expect(await sentTo(path, { session_id: 'mine' })).not.toHaveProperty('session_id');
});

row('request.other-gateways', async () => {
  for (const path of PATHS)
    for (const [name, value, instead] of [
      ['models', [MODEL], /model/],
      ['route', 'fallback', /model/],
      ['provider', { order: ['a'] }, /model/],
      ['plugins', [{ id: 'web' }], /tools/],
      ['transforms', ['middle-out'], /messages/],
      ['functions', [{ name: 'f' }], /tools/],
      ['function_call', 'auto', /tool_choice/],
    ] as const)
      expect(await refusedBy(path, { [name]: value }, name)).toMatch(instead);
});

/** More than a double has. */
const DIGITS = '12345678901234567890';
const SCHEMA = { type: 'object', properties: { a: { const: Number(DIGITS) } } };
const formatOf = (strict?: boolean) => ({
  type: 'json_schema',
  json_schema: { name: 'n', schema: SCHEMA, ...(strict !== undefined && { strict }) },
});

row('request.response_format.json_object-schema', async () => {
  const text = JSON.stringify({
    ...FIELDS['/chat/completions'],
    response_format: { type: 'json_object', schema: SCHEMA },
  }).replace(/1234567890\d+/, DIGITS);
  expect((await client.post('/chat/completions', text)).status).toBe(200);
  expect(engine.lastBody().response_format).toEqual({
    type: 'json_schema',
    json_schema: { name: expect.any(String), schema: SCHEMA },
  });
  expect(engine.lastText()).toContain(`:${DIGITS}`);
  await refused({ response_format: { type: 'json_object', schema: 'x' } }, 'response_format.schema');
  const fallback = await post('/chat/completions', {
    model: PLAIN_MODEL,
    response_format: { type: 'json_object', schema: SCHEMA },
  });
  expect([fallback.status, fallback.headers.get('x-response-format')]).toEqual([200, 'json_object']);
});

row('request.response_format.no-schema', async () => {
  for (const json_schema of [{ name: 'n' }, { name: 'n', schema: null, strict: true }]) {
    const { response_format: format } = await sent({ response_format: { type: 'json_schema', json_schema } });
    expect(format).toEqual({ type: 'json_object' });
  }
});

row('request.response_format.strict', async () => {
  const message = await refused({ model: PLAIN_MODEL, response_format: formatOf(true) }, 'response_format');
  expect(message).toContain(MODEL);
  for (const stream of [false, true]) {
    for (const [model, strict, header] of [
      [PLAIN_MODEL, false, 'json_object'],
      [PLAIN_MODEL, undefined, 'json_object'],
      [MODEL, true, null],
    ] as const) {
      const { status, headers } = await post('/chat/completions', { model, stream, response_format: formatOf(strict) });
      expect({ model, status, header: headers.get('x-response-format') }).toEqual({ model, status: 200, header });
    }
  }
  expect((await post('/chat/completions', { response_format: { type: 'json_object' } })).headers).not.toContain(
    'x-response-format',
  );
});

row('request.who-can', async () => {
  expect(await refused({ model: PLAIN_MODEL, tools: [aTool()] }, 'tools')).toContain(MODEL);
  const image = user([{ type: 'image_url', image_url: { url: PNG } }]);
  expect(await refused(image, 'messages')).toContain(VISION_MODEL);
  // `qwen3-32b` has tools, and no engine here; `llama-3.1-70b-instruct` is retired.
  for (const message of [await refused({ model: PLAIN_MODEL, tools: [aTool()] }, 'tools')])
    expect(message).not.toMatch(/qwen3-32b|llama-3\.1-70b/);
  expect(await refused({ model: 'flux.1-schnell' }, 'model')).toContain('/v1/images/generations');
  expect(await refused({ model: EMBEDDING_MODEL }, 'model')).toContain('/v1/embeddings');
  expect(await refusedBy('/embeddings', { model: MODEL }, 'model')).toContain('/v1/chat/completions');
});

row('request.model.names', async () => {
  for (const [path, id, huggingFaceId] of [
    ['/chat/completions', MODEL, 'meta-llama/Llama-3.3-70B-Instruct'],
    ['/completions', MODEL, 'meta-llama/Llama-3.3-70B-Instruct'],
    ['/embeddings', EMBEDDING_MODEL, 'BAAI/bge-m3'],
  ] as const) {
    for (const name of [id, huggingFaceId, huggingFaceId.toUpperCase(), `some-owner/${id}`]) {
      const { status, body } = await post(path, { model: name });
      expect({ name, status, model: (body as { model: string }).model }).toEqual({ name, status: 200, model: id });
      expect(engine.lastBody()).toMatchObject({ model: id });
      const entry = await client.get(`/models/${name}`);
      expect({ name, status: entry.status, body: entry.body }).toMatchObject({ name, status: 200, body: { id } });
    }
    for (const name of [`a/b/${id}`, `/${id}`, `${id}/`, `a/${id}x`, id.toUpperCase(), ` ${id}`]) {
      const { status, body } = await post(path, { model: name });
      expect({ name, status }).toEqual({ name, status: 404 });
      const { error } = body as { error: { provider_specific_fields: object } };
      expect(error.provider_specific_fields).toMatchObject({ did_you_mean: expect.arrayContaining([id]) });
    }
  }
});

row('models.one.did-you-mean', async () => {
  for (const name of [`${MODEL}x`, `meta-llama/${MODEL}x`, `a/b/${MODEL}`]) {
    const { status, body } = await client.get(`/models/${name}`);
    const guesses = { param: 'model', did_you_mean: expect.arrayContaining([MODEL]) };
    const error = envelope('invalid_request_error', 'model_not_found', guesses);
    expect({ name, status, body }).toEqual({ name, status: 404, body: error });
  }
});

row('request.byte-order-mark', async () => {
  for (const path of PATHS) {
    const body = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(JSON.stringify(FIELDS[path]))]);
    expect({ path, status: (await client.post(path, body)).status }).toEqual({ path, status: 200 });
    expect(engine.lastBody()).toMatchObject({ ...FIELDS[path], model: expect.any(String) });
  }
  const twice = Buffer.from(`\ufeff\ufeff${JSON.stringify(FIELDS['/completions'])}`);
  expect((await client.post('/completions', twice)).status).toBe(400);
});

row('errors.401.spaces', async () => {
  for (const gap of [' ', '  ', '     ']) {
    const as = createClient(stack.baseUrl);
    const headers = { authorization: `Bearer${gap}${stack.apiKey}`, 'content-type': 'application/json' };
    const answers = [
      ...(await Promise.all(PATHS.map((path) => as.post(path, FIELDS[path], { headers })))),
      ...(await Promise.all(['/models', '/svc/key', '/svc/usage', '/videos'].map((path) => as.get(path, { headers })))),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  }
  const tab = { authorization: `Bearer\t${stack.apiKey}` };
  expect((await createClient(stack.baseUrl).get('/models', { headers: tab })).status).toBe(401);
});

row('embeddings.token-ids', async () => {
  for (const input of [
    [1, 2],
    [[1, 2], [3]],
    ['a', 2],
    ['a', [1]],
  ])
    expect(await refusedBy('/embeddings', { input }, 'input')).toMatch(/texts.*check_embedding_ctx_length=False/);
});

row('embeddings.dimensions.own', async () => {
  expect(await sentTo('/embeddings', { dimensions: 1_024 })).not.toHaveProperty('dimensions');
  for (const dimensions of [1, 512, 1_023, 1_025])
    expect(await refusedBy('/embeddings', { dimensions }, 'dimensions')).toContain('1024');
});
