import { expect } from '@jest/globals';
import { expectUnbilled } from '../../support/expectBilled.ts';
import { type Caller, makeCaller } from '../../support/makeCaller.ts';
import type { Answer } from '../support/http.ts';
import { client, stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';
import { invalid, tooLong } from '../support/shapes.ts';

const MODEL = 'llama-3.3-70b-instruct';
/** Costs nothing; a window of 8,192 tokens. */
const FREE_MODEL = 'smollm2-1.7b-instruct';
const WINDOW_TOKENS = 8_192;
const VISION_MODEL = 'qwen2.5-vl-7b-instruct';
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADBgGAWjR9awAAAABJRU5ErkJggg==';
const TOOLS = [
  {
    type: 'function',
    function: { name: 'forecast', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
  },
];

interface ChatBody {
  choices: {
    message: { content: string | null; tool_calls?: { function: { arguments: string } }[] };
    finish_reason: string;
  }[];
  usage: Record<string, number>;
}

const aChat = (directives: string, fields: object = {}) => ({
  model: MODEL,
  messages: [{ role: 'user', content: `hi [[sim: ttft_ms=0 itl_ms=0 ${directives}]]` }],
  ...fields,
});
const chat = (directives: string, fields: object = {}): Promise<Answer> =>
  client.post('/chat/completions', aChat(directives, fields));
const chatBody = async (directives: string, fields: object = {}): Promise<ChatBody> =>
  (await chat(directives, fields)).body as ChatBody;

row('answer.identity', async () => {
  const { status, headers, body } = await chat('tokens=3');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  expect(body).toMatchObject({
    id: expect.stringMatching(/./),
    object: 'chat.completion',
    created: expect.any(Number),
  });
  expect(Math.abs((body as { created: number }).created - Date.now() / 1_000)).toBeLessThan(60);
});

row('answer.model', async () => {
  expect(await chatBody('tokens=3')).toMatchObject({ model: MODEL });
  expect(await chatBody('tokens=3', { model: 'llama-3.3-70b' })).toMatchObject({ model: MODEL });
});

row('answer.choices', async () => {
  const { choices } = await chatBody('text="Hello."');
  const message = { role: 'assistant', content: 'Hello.', refusal: null };
  expect(choices).toEqual([{ index: 0, message, logprobs: null, finish_reason: 'stop' }]);
});

row('answer.finish_reason', async () => {
  expect((await chatBody('tokens=9')).choices[0]?.finish_reason).toBe('stop');
  expect((await chatBody('tokens=9', { max_tokens: 4 })).choices[0]?.finish_reason).toBe('length');
});

row('answer.usage', async () => {
  const { usage } = await chatBody('tokens=9');
  expect(usage.prompt_tokens).toBeGreaterThan(0);
  expect(usage).toMatchObject({ completion_tokens: 9, total_tokens: (usage.prompt_tokens ?? 0) + 9 });
});

row('answer.usage.cache', async () => {
  // A workspace of its own has seen no prompt yet.
  const caller = await makeCaller(stack);
  const ask = async () => {
    const response = await caller.post(
      '/chat/completions',
      aChat(`tokens=2]] ${'a long prompt '.repeat(40)}[[sim: tokens=2`),
    );
    return ((await response.json()) as ChatBody).usage;
  };
  const first = await ask();
  const again = await ask();
  expect(first).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: first.prompt_tokens });
  expect(again.cache_read_input_tokens).toBeGreaterThan(0);
  expect((again.cache_read_input_tokens ?? 0) + (again.cache_creation_input_tokens ?? 0)).toBe(again.prompt_tokens);
});

row('answer.json', async () => {
  const { choices } = await chatBody('', { response_format: { type: 'json_object' } });
  expect(typeof JSON.parse(choices[0]?.message.content ?? '')).toBe('object');
});

row('answer.cap-2048', async () => {
  const { choices, usage } = await chatBody('tokens=3000', { max_tokens: 4000 });
  expect(choices[0]?.finish_reason).toBe('length');
  expect(usage.completion_tokens).toBe(2048);
});

row('answer.seed', async () => {
  const textOf = async (seed: number) => (await chatBody('', { seed })).choices[0]?.message.content;
  expect(await textOf(7)).toBe(await textOf(7));
  expect(await textOf(8)).not.toBe(await textOf(7));
});

row('answer.tool-call', async () => {
  const { choices } = await chatBody('tool_call=forecast', { tools: TOOLS, tool_choice: 'auto' });
  const call = {
    id: expect.stringMatching(/./),
    type: 'function',
    function: { name: 'forecast', arguments: expect.any(String) },
  };
  expect(choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null, tool_calls: [call] } });
  expect(typeof JSON.parse(choices[0]?.message.tool_calls?.[0]?.function.arguments ?? '')).toBe('object');
});

row('answer.forced-tool-missing', async () => {
  const named = { type: 'function', function: { name: 'forecast' } };
  for (const choice of ['required', named]) {
    const caller = await makeCaller(stack);
    const response = await caller.post(
      '/chat/completions',
      aChat('no_tool_call', { tools: TOOLS, tool_choice: choice }),
    );
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual(invalid('tool_choice'));
    await expectUnbilled(caller, response.headers);
  }
});

row('answer.vision.undecodable', async () => {
  const content = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,bm8gaW1hZ2UgYXQgYWxs' } }];
  const { status, body } = await chat('', { model: VISION_MODEL, messages: [{ role: 'user', content }] });
  expect({ status, body }).toMatchObject({
    status: 400,
    body: { error: { type: 'invalid_request_error', code: null } },
  });
});

row('answer.vision', async () => {
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: PNG } },
  ];
  const { status, body } = await chat('', { model: VISION_MODEL, messages: [{ role: 'user', content }] });
  expect({ status, body }).toMatchObject({
    status: 200,
    body: { choices: [{ message: { content: expect.any(String) } }] },
  });
});

const withPrompt = (caller: Caller, tokens: number, fields: object) =>
  caller.post('/chat/completions', {
    model: FREE_MODEL,
    messages: [{ role: 'user', content: ' the'.repeat(tokens) }],
    ...fields,
  });

row('answer.context.prompt', async () => {
  const caller = await makeCaller(stack);
  for (const stream of [false, true]) {
    const response = await withPrompt(caller, 2 * WINDOW_TOKENS, { stream, max_tokens: 1 });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual(tooLong());
  }
});

row('answer.context.output', async () => {
  const caller = await makeCaller(stack);
  const words = WINDOW_TOKENS / 2;
  expect((await withPrompt(caller, words, { max_tokens: 1 })).status).toBe(200);
  const used = (await (await withPrompt(caller, words, { max_tokens: 1 })).json()) as ChatBody;
  const room = WINDOW_TOKENS - (used.usage.prompt_tokens ?? 0);
  const response = await withPrompt(caller, words, { stream: true, max_tokens: room + 1 });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual(tooLong());
});

row('answer.context.unbilled', async () => {
  const caller = await makeCaller(stack);
  const content = 'ab '.repeat(2 * 131_072);
  const response = await caller.post('/chat/completions', { model: MODEL, messages: [{ role: 'user', content }] });
  expect(response.status).toBe(400);
  await expectUnbilled(caller, response.headers);
});
