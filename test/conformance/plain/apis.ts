import { expect } from '@jest/globals';
import { expectUnbilled } from '../../support/expectBilled.ts';
import { type Account, makeAccount } from '../../support/makeAccount.ts';
import { createClient } from '../support/http.ts';
import { stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';

const MODEL = 'llama-3.3-70b-instruct';
const FREE_MODEL = 'smollm2-1.7b-instruct';
const PATHS = { chat: '/chat/completions', responses: '/responses', messages: '/messages' } as const;
type Api = keyof typeof PATHS;
const APIS = Object.keys(PATHS) as Api[];

/** The same conversation in each API. */
function say(
  api: Api,
  text: string,
  { maxTokens = 64, ...fields }: { maxTokens?: number } & Record<string, unknown> = {},
) {
  const spoken = [{ role: 'user', content: text }];
  if (api === 'responses') return { model: MODEL, input: spoken, max_output_tokens: maxTokens, ...fields };
  return { model: MODEL, messages: spoken, max_tokens: maxTokens, ...fields };
}

const ask = (account: Account, api: Api, text: string, fields: { maxTokens?: number } & Record<string, unknown> = {}) =>
  account.post(PATHS[api], say(api, text, fields));

// biome-ignore lint/suspicious/noExplicitAny: bodies of three APIs, read as a client without types reads them
type Body = Record<string, any>;

const textOf = (api: Api, body: Body): string => {
  if (api === 'chat') return body.choices[0].message.content;
  return api === 'responses' ? body.output[0].content[0].text : body.content[0].text;
};

row('apis.one-price', async () => {
  const seen = await Promise.all(
    APIS.map(async (api) => {
      const account = await makeAccount(stack);
      const response = await ask(account, api, 'hi [[sim: text="exact words" ttft_ms=0 itl_ms=0]]');
      const body = (await response.json()) as Body;
      const { total_spend, prompt_tokens, completion_tokens, canonical_model, status } = await account.untilUsage(
        response.headers,
      );
      expect(body.usage.cost).toBe(total_spend);
      return { text: textOf(api, body), total_spend, prompt_tokens, completion_tokens, canonical_model, status };
    }),
  );
  expect(seen[0]?.total_spend).toBeGreaterThan(0);
  expect(seen).toEqual([seen[0], seen[0], seen[0]]);
});

/** A stream's events, with their names where they have some. */
const splitEvents = (text: string): string[] => text.split('\n\n').slice(0, -1);

const deltaOf = (api: Api, event: Body): string => {
  if (api === 'chat') return event.choices?.[0]?.delta.content ?? '';
  if (api === 'responses') return event.type === 'response.output_text.delta' ? event.delta : '';
  return event.delta?.text ?? '';
};

row('apis.streams', async () => {
  for (const api of APIS) {
    const account = await makeAccount(stack);
    const response = await ask(account, api, 'hi [[sim: text="Zürich, 天気 and \\"quotes\\"" itl_ms=0]]', {
      stream: true,
    });
    const lines = splitEvents(await response.text()).flatMap((event) => event.match(/^data: (\{.*)$/m)?.[1] ?? []);
    const events = lines.map((line) => JSON.parse(line) as Body);
    expect({ api, text: events.map((event) => deltaOf(api, event)).join('') }).toEqual({
      api,
      text: 'Zürich, 天気 and "quotes"',
    });
    expect(await account.untilUsage(response.headers)).toMatchObject({ status: 'success' });
  }
});

row('apis.cut', async () => {
  const account = await makeAccount(stack);
  const answers = await Promise.all(
    APIS.map(async (api) => {
      const response = await ask(account, api, 'hi [[sim: tokens=3000 ttft_ms=0 itl_ms=0]]', { maxTokens: 4_000 });
      return (await response.json()) as Body;
    }),
  );
  expect(answers).toMatchObject([
    { choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 2_048 } },
    { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, usage: { output_tokens: 2_048 } },
    { stop_reason: 'max_tokens', usage: { output_tokens: 2_048 } },
  ]);
});

row('apis.messages-length', async () => {
  const account = await makeAccount(stack);
  const fields = { model: FREE_MODEL, maxTokens: 32_000, stream: true };
  const response = await ask(account, 'messages', `${'word '.repeat(2_000)}[[sim: tokens=3 itl_ms=0]]`, fields);
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('event: message_stop\n');
});

row('apis.messages-usage', async () => {
  const account = await makeAccount(stack);
  const prompt = `${'A long beginning. '.repeat(200)}[[sim: tokens=3 itl_ms=0]]`;
  const read = async () => ((await (await ask(account, 'messages', prompt)).json()) as Body).usage;
  await read();
  const usage = await read();
  expect(usage.cache_read_input_tokens).toBeGreaterThan(0);
  const chat = ((await (await ask(account, 'chat', prompt)).json()) as Body).usage;
  expect(usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens).toBe(
    chat.prompt_tokens,
  );
});

row('apis.messages-errors', async () => {
  const workspaceId = await stack.operator.makeWorkspace({ creditUsd: '0.000001' });
  const account = await makeAccount(stack, { workspaceId });
  const cases: [object, number, string][] = [
    [say('messages', 'hi', { model: 'nobody-knows-it' }), 404, 'not_found_error'],
    [say('messages', 'hi', { maxTokens: 0 }), 400, 'invalid_request_error'],
    [say('messages', 'hi', { maxTokens: 2_000 }), 402, 'billing_error'],
  ];
  for (const [body, status, type] of cases) {
    const response = await account.post('/messages', body);
    const { error, ...others } = (await response.json()) as Body;
    expect({ status: response.status, type: error.type }).toEqual({ status, type });
    expect(others).toEqual({ type: 'error', request_id: response.headers.get('x-request-id') });
    expect(response.headers.get('x-error-message')).toBe(error.message.replaceAll(/[^ -~]/g, "'"));
    const chat = await account.post('/chat/completions', body);
    expect(chat.headers.get('x-error-message')).toBe(response.headers.get('x-error-message'));
  }
  const refused = await createClient(stack.baseUrl, 'sk-nobody').post('/messages', say('messages', 'hi'));
  expect(refused).toMatchObject({ status: 401, body: { type: 'error', error: { type: 'authentication_error' } } });
});

row('apis.messages-key', async () => {
  const nobody = createClient(stack.baseUrl);
  const headers = { 'x-api-key': stack.apiKey, 'content-type': 'application/json' };
  const body = say('messages', 'hi [[sim: tokens=2 itl_ms=0]]');
  expect((await nobody.post('/messages', body, { headers })).status).toBe(200);
  expect((await nobody.post('/messages/count_tokens', say('messages', 'hi'), { headers })).status).toBe(200);
  expect((await nobody.post('/chat/completions', body, { headers })).status).toBe(401);
  expect((await nobody.post('/responses', say('responses', 'hi'), { headers })).status).toBe(401);
});

row('apis.tool-digits', async () => {
  const account = await makeAccount(stack);
  const digits = '{"id":1234567890123456789,"ratio":1.0}';
  const prompt = `hi [[sim: tool_call=f tool_arguments="${digits.replaceAll('"', '\\"')}" itl_ms=0]]`;
  const tools = {
    chat: [{ type: 'function', function: { name: 'f' } }],
    responses: [{ type: 'function', name: 'f' }],
    messages: [{ name: 'f', input_schema: {} }],
  };
  for (const api of APIS) {
    const [whole, stream] = await Promise.all(
      [false, true].map(async (isStream) =>
        (await ask(account, api, prompt, { tools: tools[api], stream: isStream })).text(),
      ),
    );
    expect({ api, text: whole?.replaceAll('\\"', '"') }).toEqual({ api, text: expect.stringContaining(digits) });
    const pieces = stream?.matchAll(/"(?:arguments|partial_json|delta)":"((?:[^"\\]|\\.)*)"/g) ?? [];
    const text = Array.from(pieces, ([, piece]) => JSON.parse(`"${piece}"`) as string).join('');
    expect({ api, text }).toEqual({ api, text: expect.stringContaining(digits) });
  }
});

row('apis.messages-request-id', async () => {
  const client = createClient(stack.baseUrl, stack.apiKey);
  const text = 'hi [[sim: tokens=2 itl_ms=0]]';
  const body = say('messages', text);
  const answers = await Promise.all([
    client.post('/messages', body),
    client.post('/messages', { ...body, stream: true }),
    client.post('/messages?beta=true', body),
    client.post('/messages/count_tokens', body),
    client.post('/messages', { ...body, model: 'nobody-knows-it' }),
    client.post('/messages/batches', {}),
    client.get('/messages'),
    createClient(stack.baseUrl).post('/messages', body),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 404, 404, 405, 401]);
  for (const { headers } of answers) {
    expect(headers.get('request-id')).toMatch(/^[\da-f-]{36}$/);
    expect(headers.get('request-id')).toBe(headers.get('x-request-id'));
  }
  const others = [client.post('/chat/completions', body), client.post('/responses', say('responses', text))];
  for (const { status, headers } of await Promise.all([...others, client.get('/models')]))
    expect({ status, id: headers.get('request-id') }).toEqual({ status: 200, id: null });
});

row('apis.count-tokens', async () => {
  const account = await makeAccount(stack);
  const counted = await account.post('/messages/count_tokens', say('messages', 'How long is this?'));
  const { input_tokens } = (await counted.json()) as Body;
  expect(await account.findSpend()).toBe(0n);
  const { usage } = (await (await ask(account, 'messages', 'How long is this?')).json()) as Body;
  expect(usage.input_tokens + usage.cache_read_input_tokens).toBe(input_tokens);
});

row('apis.responses-errors', async () => {
  const workspaceId = await stack.operator.makeWorkspace({ creditUsd: '0.000001' });
  const account = await makeAccount(stack, { workspaceId });
  for (const [fields, status, code] of [
    [{ model: 'nobody-knows-it' }, 404, 'unknown_model'],
    [{ maxTokens: 2_000 }, 402, 'insufficient_balance'],
  ] as const) {
    const response = await ask(account, 'responses', 'hi', fields);
    const { error } = (await response.json()) as Body;
    expect({ status: response.status, code: error.code }).toEqual({ status, code });
    expect(response.headers.get('x-error-message')).toBe(error.message.replaceAll(/[^ -~]/g, "'"));
  }
});

row('apis.responses-kept', async () => {
  const account = await makeAccount(stack);
  for (const [fields, param] of [
    [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
    [{ background: true }, 'background'],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0].type'],
    [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
  ] as const) {
    const response = await ask(account, 'responses', 'hi', fields);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', param } });
  }
});

row('apis.engine-fails', async () => {
  for (const [api, last] of [
    ['responses', /event: response\.failed\ndata: .*"code":"server_error"/],
    ['messages', /event: error\ndata: .*"type":"api_error"/],
  ] as const) {
    const account = await makeAccount(stack);
    const response = await ask(account, api, 'hi [[sim: tokens=20 fault=reset_mid_stream after=3 itl_ms=0]]', {
      stream: true,
    });
    const events = splitEvents(await response.text());
    expect(events.at(-1)).toMatch(last);
    await expectUnbilled(account, response.headers);
  }
});

row('apis.forced-tool', async () => {
  const account = await makeAccount(stack);
  const prompt = 'hi [[sim: no_tool_call tokens=3 itl_ms=0]]';
  const response = await ask(account, 'responses', prompt, {
    tools: [{ type: 'function', name: 'f', parameters: {} }],
    tool_choice: 'required',
  });
  const message = await ask(account, 'messages', prompt, {
    tools: [{ name: 'f', input_schema: {} }],
    tool_choice: { type: 'any' },
  });
  expect([response.status, message.status]).toEqual([400, 400]);
  expect(await response.json()).toMatchObject({ error: { param: 'tool_choice' } });
  expect(await message.json()).toMatchObject({ error: { type: 'invalid_request_error', param: 'tool_choice' } });
});
