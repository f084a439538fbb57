import { expect } from '@jest/globals';
import { expectUnbilled } from '../../support/expectBilled.ts';
import { makeCaller } from '../../support/makeCaller.ts';
import type { Answer } from '../support/http.ts';
import { client, stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';
import { invalid, tooLong } from '../support/shapes.ts';

const MODEL = 'bge-m3';
const WINDOW_TOKENS = 8_192;

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
    body: { object: 'list', data, model: MODEL, usage: expect.any(Object) },
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
    model: MODEL,
    input: ' the'.repeat(2 * WINDOW_TOKENS),
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual(tooLong());
  await expectUnbilled(caller, response.headers);
});
