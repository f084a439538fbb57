import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { startTinyEngine, type TinyEngineProcess } from './support/startTinyEngine.ts';

const MODEL = 'tiny-random-llama';
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Où est le café? 世界 🚀 <|end|>' },
];

let engine: TinyEngineProcess;
let client: OpenAI;
beforeAll(async () => {
  engine = await startTinyEngine();
  client = new OpenAI({ baseURL: `${engine.url}/v1`, apiKey: 'unused', maxRetries: 0 });
});
afterAll(() => engine.stop());

type ChatBody = Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> & { cache_salt?: string; ignore_eos?: boolean };

/** A whole answer. Computed from nothing unless a salt is given, so that the same request has the same arithmetic. */
const chat = (body: ChatBody = {}) =>
  client.chat.completions.create({
    model: MODEL,
    messages,
    max_tokens: 40,
    cache_salt: randomUUID(),
    ...body,
  } as OpenAI.ChatCompletionCreateParamsNonStreaming);

const textOf = (completion: OpenAI.ChatCompletion): string => completion.choices[0]?.message.content ?? '';

async function countTokens(body: object): Promise<number> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const { count } = (await (await fetch(`${engine.url}/tokenize`, init)).json()) as { count: number };
  return count;
}

describe('the official client', () => {
  it('streams the tokens of a model, one event each, and then the usage', async () => {
    const request = { model: MODEL, messages, max_tokens: 50, seed: 3, ignore_eos: true };
    const stream = await client.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    const deltas: string[] = [];
    let usage: OpenAI.CompletionUsage | undefined;
    let finishReason: string | null | undefined;
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta.content;
      if (delta) deltas.push(delta);
      finishReason ??= chunk.choices[0]?.finish_reason;
      usage = chunk.usage ?? usage;
    }
    expect(deltas.length).toBeGreaterThan(40);
    expect(deltas.join('')).toMatch(/\p{L}{3,} \p{L}{2,}/u);
    expect(deltas.join('')).not.toContain('\ufffd');
    expect(finishReason).toBe('length');
    expect(usage).toMatchObject({ completion_tokens: 50, total_tokens: 50 + (usage?.prompt_tokens ?? 0) });
  });

  it('gets the same text for the same seed, and another for another', async () => {
    const [first, again, other] = [await chat({ seed: 5 }), await chat({ seed: 5 }), await chat({ seed: 6 })];
    expect(textOf(again)).toBe(textOf(first));
    expect(textOf(other)).not.toBe(textOf(first));
  });

  it('gets the same text for any seed at temperature 0', async () => {
    const [first, other] = [await chat({ seed: 5, temperature: 0 }), await chat({ seed: 6, temperature: 0 })];
    expect(textOf(other)).toBe(textOf(first));
  });

  it('gets an answer that ends by itself with the token that ended it counted', async () => {
    const { choices, usage } = await chat({ seed: 1, max_tokens: 4_000 });
    expect(choices[0]?.finish_reason).toBe('stop');
    expect(usage?.completion_tokens).toBeLessThan(4_000);
  });

  it('gets the text before a stop string', async () => {
    const text = textOf(await chat({ seed: 5 }));
    const stop = [...text].slice(10, 16).join('');
    const { choices } = await chat({ seed: 5, stop });
    expect(choices[0]).toMatchObject({
      message: { content: text.slice(0, text.indexOf(stop)) },
      finish_reason: 'stop',
      stop_reason: stop,
    });
  });

  it('gets JSON of the schema it gave', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, size: { enum: ['small', 'large'] }, count: { type: 'integer' } },
      required: ['name', 'size', 'count'],
      additionalProperties: false,
    };
    const format = { type: 'json_schema', json_schema: { name: 'thing', schema } } as const;
    const completion = await chat({ seed: 5, max_tokens: 1_000, response_format: format });
    expect(completion.choices[0]?.finish_reason).toBe('stop');
    expect(JSON.parse(textOf(completion))).toEqual({
      name: expect.any(String),
      size: expect.stringMatching(/^(small|large)$/),
      count: expect.any(Number),
    });
  });

  it('gets a JSON object when it asks for one', async () => {
    const completion = await chat({ seed: 2, max_tokens: 2_000, response_format: { type: 'json_object' } });
    expect(JSON.parse(textOf(completion))).toBeInstanceOf(Object);
  });

  it('completes a text', async () => {
    const { choices, usage } = await client.completions.create({ model: MODEL, prompt: 'Once upon', seed: 1 });
    expect(choices[0]?.text).toMatch(/\p{L}/u);
    expect(usage?.completion_tokens).toBeLessThanOrEqual(16);
  });

  it('lists the model with its window', async () => {
    const { data } = await client.models.list();
    expect(data).toMatchObject([{ id: MODEL, max_model_len: 8_192 }]);
  });
});

describe('usage', () => {
  it('counts the prompt of a chat exactly as /tokenize does', async () => {
    const { usage } = await chat();
    expect(usage?.prompt_tokens).toBe(await countTokens({ model: MODEL, messages }));
  });

  it('counts the prompt of a completion exactly as /tokenize does', async () => {
    const prompt = 'naïve 世界';
    const { usage } = await client.completions.create({ model: MODEL, prompt, max_tokens: 1 });
    expect(usage?.prompt_tokens).toBe(await countTokens({ prompt }));
  });

  it('never has more prompt tokens than bytes of text, 2 a message and 2', async () => {
    const bytes = messages.reduce((sum, { content }) => sum + Buffer.byteLength(String(content)), 0);
    expect(await countTokens({ messages })).toBeLessThanOrEqual(bytes + 2 * messages.length + 2);
  });

  it('tells the prefix that was not computed again, under the same salt only', async () => {
    const salt = randomUUID();
    const cachedTokensOf = async (body: ChatBody) => (await chat(body)).usage?.prompt_tokens_details?.cached_tokens;
    const count = await countTokens({ messages });
    expect(await cachedTokensOf({ cache_salt: salt })).toBe(0);
    expect(await cachedTokensOf({ cache_salt: salt })).toBe(count - 1);
    expect(await cachedTokensOf({ cache_salt: randomUUID() })).toBe(0);
    const next: typeof messages = [
      ...messages,
      { role: 'assistant', content: 'Là.' },
      { role: 'user', content: 'Où?' },
    ];
    // The whole first prompt: the answer it was given differs.
    expect(await cachedTokensOf({ cache_salt: salt, messages: next })).toBe(count);
  });
});

describe('a refusal', () => {
  it.each([
    ['an output longer than the window', { max_tokens: 8_192 }, { status: 400, param: 'input_tokens' }],
    [
      'a prompt longer than the window',
      { messages: [{ role: 'user', content: 'x '.repeat(9_000) }], max_tokens: undefined },
      { status: 400, message: expect.stringContaining("This model's maximum context length is 8192 tokens.") },
    ],
    [
      'an image',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
      { status: 400, message: expect.stringContaining('not a multimodal model') },
    ],
    ['tools', { tools: [{ type: 'function', function: { name: 'f' } }] }, { status: 400, param: 'tools' }],
  ])('of %s is in the engine’s shape', async (_case, body, expected) => {
    await expect(chat(body as ChatBody)).rejects.toMatchObject(expected);
  });
});
