import { expect } from '@jest/globals';
import { expectUnbilled } from '../../support/expectBilled.ts';
import { type Caller, makeCaller } from '../../support/makeCaller.ts';
import { splitEvents } from '../../support/splitEvents.ts';
import { type Answer, createClient } from '../support/http.ts';
import { client, stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';
import { invalid, wrapped } from '../support/shapes.ts';

const MODEL = 'llama-3.3-70b-instruct';
/** Costs nothing; a window of 8,192 tokens. */
const FREE_MODEL = 'smollm2-1.7b-instruct';
const WINDOW_TOKENS = 8_192;
const VISION_MODEL = 'qwen2.5-vl-7b-instruct';
const EMBEDDING_MODEL = 'bge-m3';
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
interface CompletionBody {
  choices: { text: string; finish_reason: string }[];
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
const complete = (directives: string, fields: object = {}): Promise<Answer> =>
  client.post('/completions', { model: MODEL, prompt: `hi [[sim: ttft_ms=0 itl_ms=0 ${directives}]]`, ...fields });
const embed = (fields: object): Promise<Answer> =>
  client.post('/embeddings', { model: EMBEDDING_MODEL, input: 'hi', ...fields });

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

const tooLong = () => ({
  error: {
    message: expect.stringMatching(/^ContextWindowExceededError: .*8192/),
    type: null,
    param: null,
    code: 'context_length_exceeded',
  },
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

row('completions.shape', async () => {
  const { status, body } = await complete('text="Hello."');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    id: expect.stringMatching(/./),
    object: 'text_completion',
    created: expect.any(Number),
    model: MODEL,
    usage: {
      prompt_tokens: expect.any(Number),
      completion_tokens: expect.any(Number),
      total_tokens: expect.any(Number),
    },
  });
  const { choices } = body as CompletionBody;
  expect(choices).toEqual([{ index: 0, text: 'Hello.', logprobs: null, finish_reason: 'stop' }]);
});

row('completions.not-capped', async () => {
  const { usage } = (await complete('tokens=2500', { max_tokens: 2500 })).body as CompletionBody;
  expect(usage.completion_tokens).toBe(2500);
});

row('completions.prompt', async () => {
  for (const prompt of [['a', 'b'], [1, 2], null, undefined, 7]) {
    const { status, body } = await complete('', { prompt });
    expect({ prompt, status, body }).toEqual({ prompt, status: 400, body: invalid('prompt') });
  }
});

row('completions.stream', async () => {
  const { headers, text } = await complete('text="Hello you."', { stream: true });
  expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events = splitEvents(text);
  expect(events.pop()).toBe('[DONE]');
  const chunks = events.map((event) => JSON.parse(event) as CompletionBody & { object: string; model: string });
  expect(new Set(chunks.map(({ object, model }) => `${object} ${model}`))).toEqual(
    new Set([`text_completion ${MODEL}`]),
  );
  expect(chunks.map(({ choices }) => choices[0]?.text ?? '').join('')).toBe('Hello you.');
  expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['stop']);
});

row('completions.stream.usage', async () => {
  const usagesOf = async (fields: object) => {
    const { text } = await complete('tokens=4', { stream: true, ...fields });
    return splitEvents(text)
      .slice(0, -1)
      .map((event) => (JSON.parse(event) as Partial<CompletionBody>).usage)
      .filter((usage) => (usage ?? null) !== null);
  };
  expect(await usagesOf({})).toEqual([]);
  expect(await usagesOf({ stream_options: { include_usage: true } })).toMatchObject([{ completion_tokens: 4 }]);
});

row('completions.gates', async () => {
  const unknown = await complete('', { model: 'no-such-model' });
  expect(unknown).toMatchObject({ status: 404, body: wrapped(404, 'unknown_model') });
  const poor = createClient(stack.baseUrl, await stack.operator.makeCaller({}, {}));
  const refused = await poor.post('/completions', { model: MODEL, prompt: 'hi' });
  expect(refused).toMatchObject({ status: 402, body: wrapped(402, 'insufficient_balance') });
  expect(await complete('', { n: 2 })).toMatchObject({ status: 400, body: invalid('n') });
});

interface EmbeddingBody {
  data: { index: number; embedding: number[] | string }[];
  usage: { prompt_tokens: number };
}
const vectorOf = async (fields: object) => ((await embed(fields)).body as EmbeddingBody).data[0]?.embedding ?? [];

row('embeddings.shape', async () => {
  const { status, body } = await embed({});
  const data = [{ object: 'embedding', index: 0, embedding: expect.any(Array) }];
  expect({ status, body }).toEqual({
    status: 200,
    body: { object: 'list', data, model: EMBEDDING_MODEL, usage: expect.any(Object) },
  });
});

row('embeddings.usage', async () => {
  const { usage } = (await embed({})).body as EmbeddingBody;
  expect(usage).toEqual({ prompt_tokens: usage.prompt_tokens, total_tokens: usage.prompt_tokens });
  expect(usage.prompt_tokens).toBeGreaterThan(0);
});

row('embeddings.dimensions', async () => {
  expect(await vectorOf({})).toHaveLength(1_024);
});

row('embeddings.list', async () => {
  const { data } = (await embed({ input: ['first', 'second'] })).body as EmbeddingBody;
  expect(data.map(({ index }) => index)).toEqual([0, 1]);
  expect(data.map(({ embedding }) => embedding)).toEqual([
    await vectorOf({ input: 'first' }),
    await vectorOf({ input: 'second' }),
  ]);
});

row('embeddings.float', async () => {
  const floats = await vectorOf({ encoding_format: 'float' });
  expect(floats).toEqual(expect.arrayContaining([expect.any(Number)]));
  expect(await vectorOf({})).toEqual(floats);
});

row('embeddings.base64', async () => {
  const bytes = Buffer.from(String(await vectorOf({ encoding_format: 'base64' })), 'base64');
  const numbers = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index));
  expect(numbers).toEqual(await vectorOf({ encoding_format: 'float' }));
});

const expectEmbeddingRefused = async (fields: object, param: unknown) => {
  const { status, body } = await embed(fields);
  expect({ fields, status, body }).toEqual({ fields, status: 400, body: invalid(param) });
};

row('embeddings.null-format', () => expectEmbeddingRefused({ encoding_format: null }, 'encoding_format'));
row('embeddings.unknown-format', () => expectEmbeddingRefused({ encoding_format: 'hex' }, 'encoding_format'));

row('embeddings.input', async () => {
  for (const input of [undefined, null, '', [], [''], [1, 2], [[1, 2]], 7]) {
    await expectEmbeddingRefused({ input }, expect.stringMatching(/^input/));
  }
});

row('embeddings.input-2048', async () => {
  const texts = Array.from({ length: 2_048 }, () => 'a');
  const { status, body } = await embed({ input: texts, encoding_format: 'base64' });
  expect(status).toBe(200);
  expect((body as EmbeddingBody).data).toHaveLength(2_048);
  await expectEmbeddingRefused({ input: [...texts, 'a'] }, 'input');
});

row('embeddings.context', async () => {
  const caller = await makeCaller(stack);
  const response = await caller.post('/embeddings', {
    model: EMBEDDING_MODEL,
    input: ' the'.repeat(2 * WINDOW_TOKENS),
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual(tooLong());
  await expectUnbilled(caller, response.headers);
});
