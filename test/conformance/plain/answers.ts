import { expect } from '@jest/globals';
import { z } from 'zod';
import { expectBilled, expectUnbilled, type SeenUsage } from '../../support/expectBilled.ts';
import { findServed } from '../../support/findServed.ts';
import { type Account, makeAccount } from '../../support/makeAccount.ts';
import { setKnobs } from '../../support/setKnobs.ts';
import { splitEvents } from '../../support/splitEvents.ts';
import type { Answer } from '../support/http.ts';
import { client, stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';
import { invalid, PNG, tooLong } from '../support/shapes.ts';
import { naming, TOOL_CALLS, TOOLS, toolArgumentsSchema } from '../support/tools.ts';

const MODEL = 'llama-3.3-70b-instruct';
/** Costs nothing; a window of 8,192 tokens. */
const FREE_MODEL = 'smollm2-1.7b-instruct';
const WINDOW_TOKENS = 8_192;
const VISION_MODEL = 'qwen2.5-vl-7b-instruct';
const IMAGE_TOKENS = 256;
const REASONING_MODELS = ['deepseek-r1-0528', 'qwen3-32b'];
/** A model with JSON mode and without answers by a schema. */
const MODEL_WITHOUT_SCHEMAS = 'deepseek-r1-0528';
const REASONING = 'Let me think: 天気 « où ».';

interface ChatBody {
  choices: {
    message: {
      content: string | null;
      reasoning?: string;
      reasoning_content?: string;
      tool_calls?: { id: string; type: string; function: { name: string; arguments: string } }[];
    };
    finish_reason: string;
  }[];
  usage: SeenUsage & Record<string, number>;
}

interface Delta {
  reasoning?: string;
  reasoning_content?: string;
  tool_calls?: { id?: string }[];
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

/** Asks as a client of its own, and asserts that the answer is billed. */
async function billedChat(directives: string, fields: object = {}): Promise<ChatBody> {
  const account = await makeAccount(stack);
  const asked = aChat(directives, fields);
  const response = await account.post('/chat/completions', asked);
  const body = (await response.json()) as ChatBody;
  expect({ status: response.status, body }).toEqual({ status: 200, body: expect.any(Object) });
  await expectBilled(account, { headers: response.headers, model: asked.model, usage: body.usage });
  return body;
}
/** The deltas of a streamed chat, as the seeded key gets them. */
async function streamed(directives: string, fields: object = {}): Promise<Delta[]> {
  const { text } = await chat(directives, { stream: true, ...fields });
  const events = splitEvents(text);
  expect(events.pop()).toBe('[DONE]');
  return events.map((event) => (JSON.parse(event) as { choices: { delta: Delta }[] }).choices[0]?.delta ?? {});
}

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

row('answer.usage.cost', async () => {
  const account = await makeAccount(stack);
  const messages = [{ role: 'user', content: 'hi [[sim: tokens=9]]' }];
  const chat = { model: MODEL, messages };
  const bodies: [string, object][] = [
    ['/chat/completions', chat],
    ['/completions', { model: MODEL, prompt: 'hi [[sim: tokens=9]]' }],
    ['/embeddings', { model: 'bge-m3', input: 'hi' }],
    ['/chat/completions', { ...chat, stream: true, stream_options: { include_usage: true } }],
  ];
  for (const [path, body] of bodies) {
    const response = await account.post(path, body);
    const text = await response.text();
    const costs = [...text.matchAll(/"cost":([^,}]+)/g)].map(([, cost]) => Number(cost));
    const { total_spend: totalSpend } = await account.untilUsage(response.headers);
    expect(totalSpend).toBeGreaterThan(0);
    expect({ path, costs }).toEqual({ path, costs: [totalSpend] });
  }
});

/** A prompt long enough to be kept by the engine that reads it. */
const LONG_PROMPT = `${'The same beginning, « déjà vu », 天気. '.repeat(40)}[[sim: tokens=2]]`;

/** Asks the long prompt twice, of a workspace of its own that has sent nothing yet. */
async function askTwice() {
  const account = await makeAccount(stack);
  const ask = async (by: Account) => {
    const messages = [{ role: 'user', content: LONG_PROMPT }];
    const response = await by.post('/chat/completions', { model: MODEL, messages });
    return { headers: response.headers, usage: ((await response.json()) as ChatBody).usage };
  };
  return { account, ask, first: await ask(account), again: await ask(account) };
}

row('answer.usage.cache', async () => {
  const { first, again } = await askTwice();
  const { prompt_tokens: promptTokens } = first.usage;
  expect(first.usage).toMatchObject({ cache_read_input_tokens: 0, cache_creation_input_tokens: promptTokens });
  const { cache_read_input_tokens: cachedTokens = 0 } = again.usage;
  expect(cachedTokens).toBeGreaterThan(promptTokens / 2);
  expect(cachedTokens).toBe((await findServed(stack, again.headers))?.cachedTokens);
  expect(again.usage).toMatchObject({
    prompt_tokens: promptTokens,
    cache_creation_input_tokens: promptTokens - cachedTokens,
  });
});

/** Neighbours that are tried: each is on one of two engines. */
const MOST_NEIGHBOURS = 20;

row('answer.usage.cache.apart', async () => {
  const { account, ask, first, again } = await askTwice();
  // Only a neighbour on the same engine proves anything, and which engine that is follows from the workspace.
  const { model: engine } = await account.untilUsage(again.headers);
  const engines: string[] = [];
  while (!engines.includes(engine) && engines.length < MOST_NEIGHBOURS) {
    const neighbour = await makeAccount(stack);
    const { headers, usage } = await ask(neighbour);
    expect(usage).toEqual(first.usage);
    await expectBilled(neighbour, { headers, model: MODEL, usage });
    engines.push((await neighbour.untilUsage(headers)).model);
  }
  expect(engines).toContain(engine);
});

const contentOf = ({ choices }: ChatBody) => choices[0]?.message.content ?? '';
const JSON_OBJECT = { response_format: { type: 'json_object' } };
const LAKE = {
  type: 'object',
  properties: { lake: { type: 'string' }, kind: { enum: ['salt', 'fresh'] }, depth: { type: 'number', minimum: 1 } },
  required: ['lake', 'kind', 'depth'],
  additionalProperties: false,
};
const BY_SCHEMA = {
  response_format: { type: 'json_schema', json_schema: { name: 'lake', strict: true, schema: LAKE } },
};

row('answer.json', async () => {
  const content = contentOf(await billedChat('', JSON_OBJECT));
  expect(z.looseObject({}).safeParse(JSON.parse(content)).success).toBe(true);
});

row('answer.json_schema', async () => {
  const content = contentOf(await billedChat('', BY_SCHEMA));
  const lake = z.fromJSONSchema(LAKE as z.core.JSONSchema.JSONSchema).safeParse(JSON.parse(content));
  expect(lake.error?.issues ?? []).toEqual([]);
});

row('answer.json_schema.fallback', async () => {
  const fields = { model: MODEL_WITHOUT_SCHEMAS, seed: 5 };
  const byObject = contentOf(await billedChat('', { ...fields, ...JSON_OBJECT }));
  const { json_schema } = BY_SCHEMA.response_format;
  const loose = { response_format: { type: 'json_schema', json_schema: { ...json_schema, strict: false } } };
  const bySchema = contentOf(await billedChat('', { ...fields, ...loose }));
  expect(Object.keys(JSON.parse(bySchema))).not.toContain('lake');
  expect(bySchema).toBe(byObject);
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
  await Promise.all(
    TOOL_CALLS.map(async ({ directives, fields, names }) => {
      const { choices } = await billedChat(directives, fields);
      const aCall = (name: string) => ({
        id: expect.stringMatching(/./),
        type: 'function',
        function: { name, arguments: expect.any(String) },
      });
      expect(choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: { content: null, tool_calls: names.map(aCall) },
      });
      const calls = choices[0]?.message.tool_calls ?? [];
      for (const call of calls) toolArgumentsSchema.parse(JSON.parse(call.function.arguments));
      expect(new Set(calls.map(({ id }) => id)).size).toBe(names.length);
    }),
  );
});

row('answer.tool-call.id', async () => {
  const [directives, fields] = ['tool_call=history tool_call=forecast', { tools: TOOLS }];
  await setKnobs(stack, { toolIds: 'missing' });
  try {
    const { choices } = await chatBody(directives, fields);
    const deltas = await streamed(directives, fields);
    for (const calls of [choices[0]?.message.tool_calls, deltas.flatMap((delta) => delta.tool_calls ?? [])]) {
      const ids = (calls ?? []).flatMap(({ id }) => id ?? []);
      expect(ids).toEqual([expect.stringMatching(/^call_/), expect.stringMatching(/^call_/)]);
      expect(new Set(ids).size).toBe(2);
    }
  } finally {
    await setKnobs(stack, { toolIds: 'present' });
  }
});

row('answer.tool-call.not-made', async () => {
  const { choices } = await billedChat('no_tool_call', { tools: TOOLS });
  expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: expect.stringMatching(/./) } });
});

row('answer.tool-call.answered', async () => {
  const asked = aChat('tool_call=history', { tools: TOOLS });
  const { message } = (await chatBody('tool_call=history', { tools: TOOLS })).choices[0] ?? {};
  const answered = (message?.tool_calls ?? []).map(({ id }) => ({
    role: 'tool',
    tool_call_id: id,
    content: '{"rain": true}',
  }));
  expect(answered).toHaveLength(1);
  const question = { role: 'user', content: 'So? [[sim: text="Il pleut."]]' };
  const { choices } = await chatBody('', {
    tools: TOOLS,
    messages: [...asked.messages, message, ...answered, question],
  });
  expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'Il pleut.' } });
});

row('answer.forced-tool-missing', async () => {
  const ways = ['required', naming('forecast')].flatMap((choice) =>
    [false, true].map((stream) => ({ choice, stream })),
  );
  await Promise.all(
    ways.map(async ({ choice, stream }) => {
      const account = await makeAccount(stack);
      const fields = { tools: TOOLS, tool_choice: choice, stream };
      const response = await account.post('/chat/completions', aChat('no_tool_call tokens=30', fields));
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual(invalid('tool_choice'));
      await expectUnbilled(account, response.headers);
    }),
  );
});

row('answer.reasoning', async () => {
  for (const model of REASONING_MODELS) {
    const { choices, usage } = await billedChat(`tokens=40 reasoning="${REASONING}"`, { model });
    expect(choices[0]?.message).toMatchObject({ reasoning: REASONING, content: expect.stringMatching(/./) });
    expect(usage.completion_tokens).toBe(40);
  }
});

row('answer.reasoning.names', async () => {
  const [directives, fields] = [`tokens=30 reasoning="${REASONING}"`, { model: 'deepseek-r1-0528' }];
  try {
    for (const reasoningField of ['reasoning_content', 'both', 'reasoning']) {
      await setKnobs(stack, { reasoningField });
      const { choices } = await chatBody(directives, fields);
      const deltas = await streamed(directives, fields);
      for (const name of ['reasoning', 'reasoning_content'] as const) {
        expect(choices[0]?.message[name]).toBe(REASONING);
        expect(deltas.map((delta) => delta[name] ?? '').join('')).toBe(REASONING);
      }
    }
  } finally {
    await setKnobs(stack, { reasoningField: 'reasoning' });
  }
});

row('answer.reasoning.off', async () => {
  for (const model of REASONING_MODELS) {
    const { choices } = await chatBody('', { model });
    expect(choices[0]?.message).toHaveProperty('reasoning', expect.stringMatching(/./));
    const off = await chatBody('', { model, chat_template_kwargs: { enable_thinking: false } });
    expect(off.choices[0]?.message).toHaveProperty('content', expect.stringMatching(/./));
    expect(off.choices[0]?.message).not.toHaveProperty('reasoning');
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
  const question = { type: 'text', text: 'What is this? [[sim: ttft_ms=0 itl_ms=0]]' };
  const image = { type: 'image_url', image_url: { url: PNG } };
  const asked = (...parts: object[]) => ({ model: VISION_MODEL, messages: [{ role: 'user', content: parts }] });
  const blind = await billedChat('', asked(question));
  const { choices, usage } = await billedChat('', asked(question, image, image));
  expect(choices[0]?.message.content).toEqual(expect.stringMatching(/./));
  expect(usage.prompt_tokens).toBe(blind.usage.prompt_tokens + 2 * IMAGE_TOKENS);
});

const withPrompt = (account: Account, tokens: number, fields: object) =>
  account.post('/chat/completions', {
    model: FREE_MODEL,
    messages: [{ role: 'user', content: ' the'.repeat(tokens) }],
    ...fields,
  });

row('answer.context.prompt', async () => {
  const account = await makeAccount(stack);
  for (const stream of [false, true]) {
    const response = await withPrompt(account, 2 * WINDOW_TOKENS, { stream, max_tokens: 1 });
    expect(response.status).toBe(400);
    const body = (await response.json()) as { error: { message: string } };
    expect(body).toEqual(tooLong());
    const own = / takes 8192 tokens in all: the prompt has (?:about )?(\d+), and 1 are asked for\.$/;
    const promptTokens = Number(own.exec(body.error.message)?.[1]);
    expect(Math.abs(promptTokens / (2 * WINDOW_TOKENS) - 1)).toBeLessThan(0.1);
  }
});

row('answer.context.output', async () => {
  const account = await makeAccount(stack);
  const words = WINDOW_TOKENS / 2;
  expect((await withPrompt(account, words, { max_tokens: 1 })).status).toBe(200);
  const used = (await (await withPrompt(account, words, { max_tokens: 1 })).json()) as ChatBody;
  const room = WINDOW_TOKENS - (used.usage.prompt_tokens ?? 0);
  const response = await withPrompt(account, words, { stream: true, max_tokens: room + 1 });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual(tooLong());
});

row('answer.context.unbilled', async () => {
  const account = await makeAccount(stack);
  const content = 'ab '.repeat(2 * 131_072);
  const response = await account.post('/chat/completions', { model: MODEL, messages: [{ role: 'user', content }] });
  expect(response.status).toBe(400);
  await expectUnbilled(account, response.headers);
});
