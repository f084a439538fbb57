import { expect } from '@jest/globals';
import { expectNotAdmitted, expectUnbilled } from '../../support/expectBilled.ts';
import { makeAccount } from '../../support/makeAccount.ts';
import type { Answer } from '../support/http.ts';
import { client, stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';
import { invalid, tooLong } from '../support/shapes.ts';

const MODEL = 'bge-m3';
const WINDOW_TOKENS = 8_192;
const TEXTS = ['À bientôt, mon ami', '天気はどうですか 😀', 'A third text, in English'];

const embed = (fields: object): Promise<Answer> => client.post('/embeddings', { model: MODEL, input: 'hi', ...fields });

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
    body: {
      object: 'list',
      data,
      model: MODEL,
      usage: { prompt_tokens: expect.any(Number), total_tokens: expect.any(Number), cost: expect.any(Number) },
    },
  });
});

row('embeddings.usage', async () => {
  const { usage } = (await embed({})).body as EmbeddingBody;
  const counts = { prompt_tokens: usage.prompt_tokens, total_tokens: usage.prompt_tokens };
  expect(usage).toEqual({ ...counts, cost: expect.any(Number) });
  expect(usage.prompt_tokens).toBeGreaterThan(0);
});

row('embeddings.dimensions', async () => {
  const vector = await vectorOf({});
  expect(vector).toHaveLength(1_024);
  expect(Array.isArray(vector) && vector.every(Number.isFinite)).toBe(true);
});

row('embeddings.list', async () => {
  const { data, usage } = (await embed({ input: TEXTS })).body as EmbeddingBody;
  expect(data.map(({ index }) => index)).toEqual([0, 1, 2]);
  const alone = await Promise.all(TEXTS.map(async (input) => (await embed({ input })).body as EmbeddingBody));
  expect(data.map(({ embedding }) => embedding)).toEqual(alone.map((answer) => answer.data[0]?.embedding));
  const tokensAlone = alone.reduce((sum, answer) => sum + answer.usage.prompt_tokens, 0);
  expect(usage.prompt_tokens).toBe(tokensAlone);
});

row('embeddings.float', async () => {
  const floats = await vectorOf({ encoding_format: 'float' });
  expect(floats).toEqual(expect.arrayContaining([expect.any(Number)]));
  expect(await vectorOf({})).toEqual(floats);
});

row('embeddings.base64', async () => {
  const input = TEXTS[0] ?? '';
  const text = String(await vectorOf({ input, encoding_format: 'base64' }));
  expect(text).toMatch(/^[A-Za-z0-9+/]+=*$/);
  const bytes = Buffer.from(text, 'base64');
  const numbers = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(4 * index));
  expect(numbers).toEqual(await vectorOf({ input, encoding_format: 'float' }));
  // The client library's default.
  const { data } = await (await makeAccount(stack)).openai.embeddings.create({ model: MODEL, input });
  expect([...(data[0]?.embedding ?? [])]).toEqual(numbers);
});

/** Asserts the 400 of fields that cannot be served, and that nothing is charged or recorded. */
async function expectEmbeddingRefused(param: unknown, ...refused: object[]): Promise<void> {
  const account = await makeAccount(stack);
  const answers = await Promise.all(
    refused.map(async (fields) => {
      const response = await account.post('/embeddings', { model: MODEL, input: 'hi', ...fields });
      const answer = { fields, status: response.status, body: await response.json() };
      expect(answer).toEqual({ fields, status: 400, body: invalid(param) });
      return response;
    }),
  );
  await expectNotAdmitted(account, ...answers.map(({ headers }) => headers));
}

row('embeddings.null-format', () => expectEmbeddingRefused('encoding_format', { encoding_format: null }));
row('embeddings.unknown-format', () => expectEmbeddingRefused('encoding_format', { encoding_format: 'hex' }));

row('embeddings.input', () => {
  const inputs = [undefined, null, '', [], [''], [1, 2], [[1, 2]], 7];
  return expectEmbeddingRefused(expect.stringMatching(/^input/), ...inputs.map((input) => ({ input })));
});

row('embeddings.input-2048', async () => {
  const texts = Array.from({ length: 2_048 }, () => 'a');
  const { status, body } = await embed({ input: texts, encoding_format: 'base64' });
  expect(status).toBe(200);
  expect((body as EmbeddingBody).data).toHaveLength(2_048);
  await expectEmbeddingRefused('input', { input: [...texts, 'a'] });
});

row('embeddings.context', async () => {
  const account = await makeAccount(stack);
  const long = ' the'.repeat(2 * WINDOW_TOKENS);
  for (const input of [long, ['short', long]]) {
    const response = await account.post('/embeddings', { model: MODEL, input });
    expect(response.status).toBe(400);
    const body = (await response.json()) as { error: { message: string } };
    expect(body).toEqual(tooLong());
    expect(body.error.message).toMatch(/ bge-m3 takes 8192 tokens in each text\.$/);
    await expectUnbilled(account, response.headers);
  }
});
