import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { chat, post, servedRequest, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

interface Answer {
  id: string;
  object: string;
  model: string;
  data: { index: number; object: string; embedding: number[] }[];
  usage: object;
}

let simulator: TestSimulator;
const embedder = { task: 'embed' as const, embeddingDimensions: 64, maxModelLen: 128 };
beforeAll(async () => {
  simulator = await startTestSimulator([embedder, embedder, { ...embedder, servedModelNames: ['other'] }, {}]);
});
afterAll(() => simulator.close());

const embed = (body: object, url = simulator.url, headers = {}) => post(`${url}/v1/embeddings`, body, headers);
const answerOf = async (body: object, url?: string): Promise<Answer> => {
  const response = await embed(body, url);
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
};
const vectorOf = async (input: unknown, fields: object = {}, url?: string) =>
  (await answerOf({ input, ...fields }, url)).data[0]?.embedding ?? [];
const lengthOf = (vector: number[]) => Math.hypot(...vector);

describe('an embedding', () => {
  it('is a vector of length 1, the same on every replica, another for another text or model', async () => {
    const vector = await vectorOf('the river');
    expect(vector).toHaveLength(64);
    expect(lengthOf(vector)).toBeCloseTo(1, 6);
    expect(await vectorOf('the river', {}, simulator.urls[1])).toEqual(vector);
    expect(await vectorOf('the lake')).not.toEqual(vector);
    expect(await vectorOf('the river', {}, simulator.urls[2])).not.toEqual(vector);
  });

  it('has the same float32 values as base64', async () => {
    const vector = await vectorOf('Où est 東京? 🚀');
    const packed = await vectorOf('Où est 東京? 🚀', { encoding_format: 'base64' });
    const bytes = Buffer.from(String(packed), 'base64');
    expect(bytes).toHaveLength(64 * 4);
    expect(vector.map((_, index) => bytes.readFloatLE(index * 4))).toEqual(vector);
    expect(vector.map(Math.fround)).toEqual(vector);
  });

  it('comes for every item of a list, in order, with the tokens of all', async () => {
    const { data, usage, object, id } = await answerOf({ input: ['one river', 'two'] });
    expect([object, id]).toEqual(['list', expect.stringMatching(/^embd-/)]);
    expect(data.map(({ index, object: kind }) => [index, kind])).toEqual([
      [0, 'embedding'],
      [1, 'embedding'],
    ]);
    expect(data[1]?.embedding).toEqual(await vectorOf('two'));
    const answer = await post(`${simulator.url}/tokenize`, { prompt: 'one river' });
    const { tokens } = (await answer.json()) as { tokens: number[] };
    expect(usage).toEqual({
      prompt_tokens: tokens.length + 1,
      total_tokens: tokens.length + 1,
      completion_tokens: 0,
      prompt_tokens_details: null,
      completion_tokens_details: null,
    });
  });

  it('comes for texts that fill the cache more than once together', async () => {
    const { data } = await answerOf({ input: new Array(2_400).fill('x'.repeat(384)) });
    expect(data).toHaveLength(2_400);
  });

  it.each([
    ['too long a text', { input: 'x'.repeat(600) }, 0, 'input_tokens', /maximum context length is 128/],
    ['one long text of several', { input: ['x', 'x'.repeat(600)] }, 0, 'input_tokens', /context length/],
    ['a null encoding_format', { input: 'x', encoding_format: null }, 0, 'body.encoding_format', /validation error/],
    ['dimensions', { input: 'x', dimensions: 8 }, 0, null, /Matryoshka/],
    ['token ids', { input: [1, 2] }, 0, 'body.input', /validation error/],
    ['no input', {}, 0, 'body.input', /Field required/],
    ['an empty text', { input: '' }, 0, null, /empty/],
  ])('is refused with 400 for %s', async (_case, body, engine, param, message) => {
    const response = await embed(body, simulator.urls[engine]);
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: expect.objectContaining({ param, message: expect.stringMatching(message) }) },
    ]);
  });

  it('is logged, counted and hit by faults like any request', async () => {
    await embed({ input: 'two rivers' }, simulator.url, { 'x-request-id': 'embedded' });
    const entry = await servedRequest(simulator, 'embedded');
    expect(entry).toMatchObject({ state: 'finished', completionTokens: 0, promptTokens: expect.any(Number) });
    const metrics = await (await fetch(`${simulator.url}/metrics`)).text();
    expect(metrics).toMatch(/vllm:prompt_tokens_total\{[^}]*\} [1-9]/);
    expect(metrics).toMatch(/vllm:generation_tokens_total\{[^}]*\} 0\n/);
    expect((await embed({ input: '[[sim: fault=http_500]]' })).status).toBe(500);
    await expect(embed({ input: '[[sim: fault=reset_mid_stream]]' })).rejects.toThrow();
  });

  it('is read by the official client', async () => {
    const client = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: 'unused', maxRetries: 0 });
    const { data } = await client.embeddings.create({ model: 'test-model', input: 'the river' });
    expect(data[0]?.embedding).toEqual(await vectorOf('the river'));
  });
});

describe('routes exist for the task of the engine alone', () => {
  const notFound = { detail: 'Not Found' };

  it.each([
    ['/v1/chat/completions', 0, chat('x')],
    ['/v1/completions', 0, { prompt: 'x' }],
    ['/v1/embeddings', 3, { input: 'x' }],
  ])('%s', async (path, engine, body) => {
    const response = await post((simulator.urls[engine] ?? '') + path, body);
    expect([response.status, await response.json()]).toEqual([404, notFound]);
  });
});
