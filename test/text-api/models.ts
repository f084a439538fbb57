import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { readCatalogFile } from '@turnpike/catalog/readCatalogFile';
import type OpenAI from 'openai';
import { z } from 'zod';
import { expectBilled, expectNotAdmitted, expectUnbilled, type SeenUsage } from '../support/expectBilled.ts';
import { findServed } from '../support/findServed.ts';
import { type Caller, makeCaller } from '../support/makeCaller.ts';
import { rejectionOf } from '../support/rejectionOf.ts';
import { caller, stack } from './plainStack.ts';

const MODEL = 'llama-3.3-70b-instruct';
const ALIAS = 'llama-3.3-70b';
const VISION_MODEL = 'qwen2.5-vl-7b-instruct';
const IMAGE_TOKENS = 256;
const REASONING_MODELS = ['deepseek-r1-0528', 'qwen3-32b'];
/** Has JSON mode, but no answers by a schema. */
const MODEL_WITHOUT_SCHEMAS = 'deepseek-r1-0528';
const SWIFT = '[[sim: ttft_ms=0 itl_ms=0]]';

type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;
type Messages = OpenAI.ChatCompletionMessageParam[];
/** What engines of reasoning models add to the convention. */
interface Thinking {
  reasoning?: string;
  content?: string | null;
}

const user = (content: OpenAI.ChatCompletionUserMessageParam['content']): Messages => [{ role: 'user', content }];
const askedBy = (by: Caller, params: Params) => by.openai.chat.completions.create(params).withResponse();
const ask = (params: Params) => askedBy(caller, params);

describe('GET /v1/models/{id}', () => {
  it('shows the entry of the list, by its id and by an alias', async () => {
    const { body: list } = await caller.get<{ data: { id: string }[] }>('/models');
    const entry = list.data.find(({ id }) => id === MODEL);

    expect(entry).toMatchObject({ id: MODEL, object: 'model', owned_by: 'turnpike', aliases: [ALIAS], is_ready: true });
    expect(await caller.get(`/models/${MODEL}`)).toEqual({ status: 200, body: entry });
    expect(await caller.get(`/models/${ALIAS}`)).toEqual({ status: 200, body: entry });
  });

  it.each([
    ['is unknown', 'no-such-model'],
    ['is retired', 'llama-3.1-70b-instruct'],
    ['has no engine here', 'flux.1-schnell'],
  ])('answers 404 for a model that %s', async (_why, model) => {
    expect(await caller.get(`/models/${model}`)).toEqual({
      status: 404,
      body: { error: expect.objectContaining({ type: 'invalid_request_error', code: 'model_not_found' }) },
    });
  });

  it('is of a catalog of at least eight categories, of which those with engines are listed', async () => {
    const file = fileURLToPath(new URL('../../deploy/catalog/us.yaml', import.meta.url));
    const inCatalog = new Set((await readCatalogFile(file, 'us')).map(({ category }) => category));
    const { body } = await caller.get<{ data: { category: string }[] }>('/models');

    expect(inCatalog.size).toBeGreaterThanOrEqual(8);
    const listed = new Set(body.data.map(({ category }) => category));
    expect([...listed].sort()).toEqual(['code', 'embeddings', 'multimodal', 'reasoning', 'text']);
  });
});

it('a model called by an alias answers, and is recorded, by its id', async () => {
  const { data, response } = await ask({ model: ALIAS, messages: user(`hi ${SWIFT}`) });

  expect(data.model).toBe(MODEL);
  await expectBilled(caller, { headers: response.headers, model: MODEL, usage: data.usage });
});

describe('response_format', () => {
  const schema = {
    type: 'object',
    properties: { lake: { type: 'string' }, kind: { enum: ['salt', 'fresh'] }, depth: { type: 'number', minimum: 1 } },
    required: ['lake', 'kind', 'depth'],
    additionalProperties: false,
  };
  const bySchema = { type: 'json_schema' as const, json_schema: { name: 'lake', strict: true, schema } };
  const messages = user(`Un lac, s’il vous plaît. ${SWIFT}`);
  const contentOf = ({ choices }: OpenAI.ChatCompletion) => choices[0]?.message.content ?? '';

  it('json_object gives a JSON object', async () => {
    const { data, response } = await ask({ model: MODEL, messages, response_format: { type: 'json_object' } });

    expect(z.looseObject({}).safeParse(JSON.parse(contentOf(data))).success).toBe(true);
    await expectBilled(caller, { headers: response.headers, model: MODEL, usage: data.usage });
  });

  it('json_schema gives JSON that is valid by the schema', async () => {
    const { data, response } = await ask({ model: MODEL, messages, response_format: bySchema });

    const lake = z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema).safeParse(JSON.parse(contentOf(data)));
    expect(lake.error?.issues ?? []).toEqual([]);
    await expectBilled(caller, { headers: response.headers, model: MODEL, usage: data.usage });
  });

  it('json_schema falls back to json_object on a model that does not know schemas', async () => {
    const fields = { model: MODEL_WITHOUT_SCHEMAS, messages, seed: 5 };
    const { data: byObject } = await askedBy(await makeCaller(stack), {
      ...fields,
      response_format: { type: 'json_object' },
    });
    const { data, response } = await ask({ ...fields, response_format: bySchema });

    expect(Object.keys(JSON.parse(contentOf(data)))).not.toContain('lake');
    expect(contentOf(data)).toBe(contentOf(byObject));
    await expectBilled(caller, { headers: response.headers, model: MODEL_WITHOUT_SCHEMAS, usage: data.usage });
  });
});

describe('images', () => {
  const PNG =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const question = { type: 'text' as const, text: `What is this? ${SWIFT}` };
  const image = (url: string) => ({ type: 'image_url' as const, image_url: { url } });

  it('inline are answered, and billed as prompt tokens', async () => {
    const { data: blind } = await askedBy(await makeCaller(stack), { model: VISION_MODEL, messages: user([question]) });
    const { data, response } = await ask({ model: VISION_MODEL, messages: user([question, image(PNG), image(PNG)]) });

    expect(data.choices[0]?.message.content).toEqual(expect.stringMatching(/./));
    expect(data.usage?.prompt_tokens).toBe((blind.usage?.prompt_tokens ?? 0) + 2 * IMAGE_TOKENS);
    await expectBilled(caller, { headers: response.headers, model: VISION_MODEL, usage: data.usage });
  });

  it('at an address of a machine of ours are refused with 400, and nothing is charged', async () => {
    const error = await rejectionOf(
      ask({ model: VISION_MODEL, messages: user([question, image('http://127.0.0.1/cat.png')]) }),
    );

    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param: 'messages', code: null });
    await expectUnbilled(caller, error.headers);
  });

  it.each([
    ['in a file', VISION_MODEL, 'file:///etc/hostname'],
    ['of another kind', VISION_MODEL, 'data:image/svg+xml;base64,PHN2Zy8+'],
    ['for a model that reads text alone', MODEL, PNG],
  ])('%s are refused with 400, and nothing is charged or recorded', async (_which, model, url) => {
    const error = await rejectionOf(ask({ model, messages: user([question, image(url)]) }));

    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param: 'messages', code: null });
    await expectNotAdmitted(caller, error.headers);
  });
});

describe.each(REASONING_MODELS)('the reasoning of %s', (model) => {
  const messages = user(`Why? ${SWIFT}[[sim: tokens=40 reasoning="Let me think: 天気 « où »."]]`);

  it('comes whole beside the content, and is billed as completion', async () => {
    const { data, response } = await ask({ model, messages });

    const { reasoning, content }: Thinking = data.choices[0]?.message ?? {};
    expect(reasoning).toBe('Let me think: 天気 « où ».');
    expect(content).toEqual(expect.stringMatching(/./));
    expect(data.usage?.completion_tokens).toBe(40);
    await expectBilled(caller, { headers: response.headers, model, usage: data.usage });
  });

  it('streams before the content, and makes up the same', async () => {
    const { data: whole } = await askedBy(await makeCaller(stack), { model, messages });
    const { data: stream, response } = await caller.openai.chat.completions
      .create({ model, messages, stream: true, stream_options: { include_usage: true } })
      .withResponse();
    const chunks = await Array.fromAsync(stream);

    const deltas = chunks.flatMap(({ choices }) => (choices[0] ? [choices[0].delta as Thinking] : []));
    const { reasoning, content }: Thinking = whole.choices[0]?.message ?? {};
    expect(deltas.map((delta) => delta.reasoning ?? '').join('')).toBe(reasoning);
    expect(deltas.map((delta) => delta.content ?? '').join('')).toBe(content);
    const firstSaid = deltas.findIndex((delta) => (delta.content ?? '') !== '');
    expect(deltas.findLastIndex((delta) => (delta.reasoning ?? '') !== '')).toBeLessThan(firstSaid);
    await expectBilled(caller, { headers: response.headers, model, usage: chunks.at(-1)?.usage });
  });

  it('comes of itself, and not where the client turns thinking off', async () => {
    const fields = { model, messages: user(`Why? ${SWIFT}`) };
    const off: Params & { chat_template_kwargs: object } = {
      ...fields,
      chat_template_kwargs: { enable_thinking: false },
    };

    expect((await ask(fields)).data.choices[0]?.message).toHaveProperty('reasoning', expect.stringMatching(/./));
    expect((await ask(off)).data.choices[0]?.message).not.toHaveProperty('reasoning');
  });
});

describe('a long prompt that is asked again', () => {
  /** Each is on one of two engines. */
  const MOST_NEIGHBOURS = 20;
  const messages = user(`${'The same beginning, « déjà vu », 天気. '.repeat(40)}${SWIFT}`);
  const usageOf = (data: OpenAI.ChatCompletion) => data.usage as SeenUsage & { cache_creation_input_tokens: number };

  it('is read from the cache within its workspace, and not for another workspace on the same engine', async () => {
    const first = await ask({ model: MODEL, messages });
    const again = await ask({ model: MODEL, messages });

    const { prompt_tokens: promptTokens } = usageOf(first.data);
    expect(usageOf(first.data)).toMatchObject({
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: promptTokens,
    });
    const { cache_read_input_tokens: cachedTokens = 0 } = usageOf(again.data);
    expect(cachedTokens).toBeGreaterThan(promptTokens / 2);
    expect(cachedTokens).toBe((await findServed(stack, again.response.headers))?.cachedTokens);
    expect(usageOf(again.data).cache_creation_input_tokens).toBe(promptTokens - cachedTokens);

    // Only a neighbour on the same engine proves anything, and which engine that is follows from the workspace.
    const { model: engine } = await caller.untilUsage(again.response.headers);
    const engines: string[] = [];
    while (!engines.includes(engine) && engines.length < MOST_NEIGHBOURS) {
      const neighbour = await makeCaller(stack);
      const { data, response } = await askedBy(neighbour, { model: MODEL, messages });
      expect(usageOf(data)).toEqual(usageOf(first.data));
      await expectBilled(neighbour, { model: MODEL, headers: response.headers, usage: usageOf(data) });
      engines.push((await neighbour.untilUsage(response.headers)).model);
    }
    expect(engines).toContain(engine);
  });

  it('costs less by what the cache saves, also for another key of its workspace', async () => {
    const fields = { model: MODEL, messages };
    const first = await ask(fields);
    const full = await expectBilled(caller, { ...fields, headers: first.response.headers, usage: first.data.usage });
    const colleague = await makeCaller(stack, { workspaceId: caller.workspaceId });
    const again = await askedBy(colleague, fields);
    const saved = await expectBilled(colleague, {
      ...fields,
      headers: again.response.headers,
      usage: again.data.usage,
    });

    expect(usageOf(again.data).cache_read_input_tokens).toBeGreaterThan(0);
    expect(saved).toBeLessThan(full);
  });
});
