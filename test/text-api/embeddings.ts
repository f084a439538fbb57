import { describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import { expectBilled, expectNotAdmitted, expectUnbilled } from '../support/expectBilled.ts';
import { caller } from './plainStack.ts';

const MODEL = 'bge-m3';
const CHAT_MODEL = 'llama-3.3-70b-instruct';
const DIMENSIONS = 1_024;
const WINDOW_TOKENS = 8_192;
const TEXTS = ['À bientôt, mon ami', '天気はどうですか 😀', 'A third text, in English'];

const embed = (fields: object) => caller.post('/embeddings', { model: MODEL, input: TEXTS[0], ...fields });

async function vectorOf(response: Response): Promise<number[] | string | undefined> {
  const { data } = (await response.json()) as { data: { embedding: number[] | string }[] };
  return data[0]?.embedding;
}

/** The numbers of a base64 text: float32, least significant byte first. */
function decode(text: string): number[] {
  const bytes = Buffer.from(text, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index));
}

describe('an embedding', () => {
  it('of one text is a vector of 1,024 numbers, billed by the tokens of the text', async () => {
    const { data, response } = await caller.openai.embeddings
      .create({ model: MODEL, input: TEXTS[0] ?? '' })
      .withResponse();

    expect(data).toEqual({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding: expect.any(Array) }],
      model: MODEL,
      usage: { prompt_tokens: expect.any(Number), total_tokens: expect.any(Number) },
    });
    expect(data.data[0]?.embedding).toHaveLength(DIMENSIONS);
    expect(data.data[0]?.embedding.every(Number.isFinite)).toBe(true);
    await expectBilled(caller, { headers: response.headers, model: MODEL, usage: data.usage });
  });

  it('has the same float32 values as floats, as base64, left open, and in the client, which asks for base64', async () => {
    const floats = await vectorOf(await embed({ encoding_format: 'float' }));
    const base64 = await vectorOf(await embed({ encoding_format: 'base64' }));
    const leftOpen = await vectorOf(await embed({}));
    const { data } = await caller.openai.embeddings.create({ model: MODEL, input: TEXTS[0] ?? '' });

    expect(base64).toMatch(/^[A-Za-z0-9+/]+=*$/);
    expect(decode(String(base64))).toEqual(floats);
    expect(leftOpen).toEqual(floats);
    expect([...(data[0]?.embedding ?? [])]).toEqual(floats);
  });

  it('of a list of texts keeps their order, and is billed as one call', async () => {
    const { data, response } = await caller.openai.embeddings.create({ model: MODEL, input: TEXTS }).withResponse();

    expect(data.data.map(({ index }) => index)).toEqual([0, 1, 2]);
    await expectBilled(caller, { headers: response.headers, model: MODEL, usage: data.usage });
    const alone = await Promise.all(TEXTS.map((input) => caller.openai.embeddings.create({ model: MODEL, input })));
    expect(data.data.map(({ embedding }) => embedding)).toEqual(alone.map((answer) => answer.data[0]?.embedding));
    const sumOf = (answers: OpenAI.CreateEmbeddingResponse[]) =>
      answers.reduce((sum, { usage }) => sum + usage.prompt_tokens, 0);
    expect(data.usage.prompt_tokens).toBe(sumOf(alone));
  });
});

describe('a request to embed is refused with 400', () => {
  it.each([
    ['an encoding_format of null', { encoding_format: null }, 'encoding_format'],
    ['an unknown encoding_format', { encoding_format: 'hex' }, 'encoding_format'],
    ['no input', { input: null }, 'input'],
    ['an empty text', { input: '' }, 'input'],
    ['an empty list', { input: [] }, 'input'],
    ['token ids', { input: [1, 2, 3] }, 'input'],
    ['a model that chats', { model: CHAT_MODEL }, 'model'],
  ])('for %s, and nothing is charged or recorded', async (_what, fields, param) => {
    const response = await embed(fields);

    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        message: expect.any(String),
        type: 'invalid_request_error',
        param: expect.stringContaining(param),
        code: null,
      },
    });
    await expectNotAdmitted(caller, response.headers);
  });

  it('for a text longer than the window, in the engine’s words, and costs nothing', async () => {
    const response = await embed({ input: ['short', 'ab '.repeat(WINDOW_TOKENS + 1)] });

    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        message: expect.stringMatching(/^ContextWindowExceededError: .*8192/),
        type: null,
        param: null,
        code: 'context_length_exceeded',
      },
    });
    await expectUnbilled(caller, response.headers);
  });
});

it.each([
  ['/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
  ['/completions', { prompt: 'hi' }],
])('an embedding model is refused on %s with 400, param model', async (path, fields) => {
  const response = await caller.post(path, { model: MODEL, ...fields });

  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', param: 'model', code: null } });
  await expectNotAdmitted(caller, response.headers);
});
