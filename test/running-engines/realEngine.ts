import { expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import OpenAI from 'openai';
import { priceOf, toNano } from '../support/priceOf.ts';
import { PLAIN_USAGE } from '../support/startPlainEngine.ts';
import { ODD_ID, ODD_NAME, stack } from './stack.ts';

/** What the engine says it serves, and its window. */
const MODEL = 'tiny-random-llama';
const WINDOW_TOKENS = 8_192;
const MESSAGES: OpenAI.ChatCompletionMessageParam[] = [
  { role: 'system', content: 'Tu es bref.' },
  { role: 'user', content: 'Où est le café ? 天気 😀' },
];

interface UsageRecord {
  model: string;
  canonical_model: string;
  status: string;
  prompt_tokens: number;
  completion_tokens: number;
  total_spend: number;
}

type Pricing = Parameters<typeof priceOf>[1];

const clientOf = (apiKey: string) => new OpenAI({ apiKey, baseURL: stack.baseUrl, maxRetries: 0 });

async function get<Body>(path: string, apiKey: string): Promise<Body | undefined> {
  const response = await fetch(`${stack.baseUrl}${path}`, { headers: { authorization: `Bearer ${apiKey}` } });
  return response.status === 200 ? ((await response.json()) as Body) : undefined;
}

async function untilUsage(response: Response, apiKey: string): Promise<UsageRecord> {
  const callId = response.headers.get('x-router-call-id') ?? '';
  return until(`the usage row of ${callId}`, () => get<UsageRecord>(`/svc/usage/request/${callId}`, apiKey));
}

async function getListed(model: string, apiKey: string): Promise<{ context_length: number; pricing: Pricing }> {
  const list = await get<{ data: { id: string; context_length: number; pricing: Pricing }[] }>('/models', apiKey);
  const entry = list?.data.find(({ id }) => id === model);
  if (!entry) throw new Error(`${model} is not listed`);
  return entry;
}

/** What the usage that the client saw costs by the listed prices. Zero would prove nothing. */
async function toExpectedNano(usage: OpenAI.CompletionUsage | null | undefined, apiKey: string): Promise<bigint> {
  const { prompt_tokens = 0, completion_tokens = 0, prompt_tokens_details: details } = usage ?? {};
  const cached_tokens = details?.cached_tokens ?? 0;
  const nano = priceOf({ prompt_tokens, completion_tokens, cached_tokens }, (await getListed(MODEL, apiKey)).pricing);
  expect(nano).toBeGreaterThan(0n);
  return nano;
}

/** A counter or gauge of the engine itself. */
async function readEngineMetric(name: string): Promise<number> {
  const { engines } = stack.running.stack.regions.us;
  const text = await (await fetch(`${engines[0]?.url}/metrics`)).text();
  const line = text.split('\n').find((candidate) => candidate.startsWith(`vllm:${name}{`));
  return line === undefined ? Number.NaN : Number(line.split(' ').at(-1));
}

it('streams real tokens whose row and price agree with the counts that the client saw, to the nano-dollar', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  const generatedBefore = await readEngineMetric('generation_tokens_total');
  const { data: stream, response } = await clientOf(apiKey)
    .chat.completions.create({
      model: MODEL,
      messages: MESSAGES,
      max_tokens: 200,
      seed: 7,
      stream: true,
      stream_options: { include_usage: true },
    })
    .withResponse();
  let text = '';
  let usage: OpenAI.CompletionUsage | null | undefined;
  const finishReasons: string[] = [];
  for await (const chunk of stream) {
    expect(chunk.model).toBe(MODEL);
    text += chunk.choices[0]?.delta.content ?? '';
    if (chunk.choices[0]?.finish_reason) finishReasons.push(chunk.choices[0].finish_reason);
    usage = chunk.usage ?? usage;
  }

  expect(finishReasons).toEqual([expect.stringMatching(/^(stop|length)$/)]);
  expect(text).not.toBe('');
  expect(text).not.toContain('\uFFFD');
  expect((await readEngineMetric('generation_tokens_total')) - generatedBefore).toBe(usage?.completion_tokens);
  const row = await untilUsage(response, apiKey);
  expect(row).toMatchObject({
    model: `engine-1/${MODEL}`,
    canonical_model: MODEL,
    status: 'success',
    prompt_tokens: usage?.prompt_tokens,
    completion_tokens: usage?.completion_tokens,
  });
  expect(toNano(row.total_spend)).toBe(await toExpectedNano(usage, apiKey));
});

it('answers whole, and the row and the price agree to the nano-dollar', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  const { data, response } = await clientOf(apiKey)
    .chat.completions.create({ model: MODEL, messages: MESSAGES, max_tokens: 50 })
    .withResponse();

  expect(data.model).toBe(MODEL);
  expect(data.choices[0]?.message.content).toEqual(expect.stringMatching(/./));
  expect(data.usage?.prompt_tokens).toBeGreaterThan(0);
  const row = await untilUsage(response, apiKey);
  expect(row).toMatchObject({
    status: 'success',
    prompt_tokens: data.usage?.prompt_tokens,
    completion_tokens: data.usage?.completion_tokens,
  });
  expect(toNano(row.total_spend)).toBe(await toExpectedNano(data.usage, apiKey));
});

it('answers in JSON by a schema, which the catalog says that the model can', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  const schema = {
    type: 'object',
    properties: { isOpen: { type: 'boolean' } },
    required: ['isOpen'],
    additionalProperties: false,
  };
  const answer = await clientOf(apiKey).chat.completions.create({
    model: MODEL,
    messages: MESSAGES,
    max_tokens: 200,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
  });

  expect(JSON.parse(answer.choices[0]?.message.content ?? '')).toEqual({ isOpen: expect.any(Boolean) });
});

it('refuses a context that is too long with the specified 400, in a row that costs nothing', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  const promise = clientOf(apiKey)
    .chat.completions.create({
      model: MODEL,
      messages: [{ role: 'user', content: 'ab '.repeat(WINDOW_TOKENS) }],
      max_tokens: 10,
      stream: true,
    })
    .withResponse();
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );

  expect(error).toBeInstanceOf(OpenAI.BadRequestError);
  const { headers } = error as InstanceType<typeof OpenAI.BadRequestError>;
  expect(error).toMatchObject({
    status: 400,
    error: {
      message: expect.stringMatching(
        /^ContextWindowExceededError: This model's maximum context length is 8192 tokens\. However, you requested 10 output tokens/,
      ),
      type: null,
      param: null,
      code: 'context_length_exceeded',
    },
  });
  const row = await untilUsage({ headers } as Response, apiKey);
  expect(row).toMatchObject({ status: 'failure', prompt_tokens: 0, completion_tokens: 0, total_spend: 0 });
});

it('stops the engine when a client leaves its stream, and charges what was generated until then', async () => {
  const apiKey = await stack.operator.makeFundedKey();
  const abortedBefore = await readAborted();
  const generatedBefore = await readEngineMetric('generation_tokens_total');
  const { data: stream, response } = await clientOf(apiKey)
    .chat.completions.create({
      model: MODEL,
      messages: [{ role: 'user', content: 'Go on.' }],
      max_tokens: 4_000,
      stream: true,
      // Not of the client's types: without it the model may end by itself.
      ...{ ignore_eos: true },
    })
    .withResponse();
  let chunks = 0;
  for await (const _chunk of stream) {
    chunks += 1;
    if (chunks === 20) break; // leaves the loop, which aborts the request
  }

  await until('the engine to have stopped', async () => ((await readAborted()) > abortedBefore ? true : undefined));
  expect(await readEngineMetric('num_requests_running')).toBe(0);
  const generated = (await readEngineMetric('generation_tokens_total')) - generatedBefore;
  expect(generated).toBeLessThan(4_000);
  const row = await untilUsage(response, apiKey);
  expect(row.status).toBe('success');
  expect(row.completion_tokens).toBeGreaterThanOrEqual(15);
  expect(row.completion_tokens).toBeLessThanOrEqual(generated);
  const { prompt_tokens, completion_tokens } = row;
  const { pricing } = await getListed(MODEL, apiKey);
  const expected = priceOf({ prompt_tokens, completion_tokens, cached_tokens: 0 }, pricing);
  expect(toNano(row.total_spend)).toBe(expected);
});

it.each([
  ['the id that the catalog gave it', ODD_ID],
  ["the engine's own name", ODD_NAME],
])('serves a model that is called otherwise than a catalog may call it, by %s', async (_what, model) => {
  const apiKey = await stack.operator.makeFundedKey();
  const { context_length: contextLength, pricing } = await getListed(ODD_ID, apiKey);
  expect(contextLength).toBe(8_192); // what is assumed where an engine states none
  const { data, response } = await clientOf(apiKey)
    .chat.completions.create({ model, messages: MESSAGES })
    .withResponse();

  expect(data.model).toBe(ODD_ID);
  const row = await untilUsage(response, apiKey);
  expect(row).toMatchObject({ model: `engine-2/${ODD_ID}`, canonical_model: ODD_ID, status: 'success' });
  expect(toNano(row.total_spend)).toBe(priceOf({ ...PLAIN_USAGE, cached_tokens: 0 }, pricing));
});

/** Requests whose client left before their end. */
async function readAborted(): Promise<number> {
  const { engines } = stack.running.stack.regions.us;
  const text = await (await fetch(`${engines[0]?.url}/metrics`)).text();
  return Number(/^vllm:request_success_total\{.*finished_reason="abort"\} (\d+)$/m.exec(text)?.[1]);
}
