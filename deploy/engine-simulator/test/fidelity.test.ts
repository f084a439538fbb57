import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Knobs } from '../src/knobs.ts';
import { readEvents } from './support/readEvents.ts';
import { postRaw } from './support/readRaw.ts';
import { admin, chat, post, servedRequest, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

const normal = {
  errorShape: 'nested',
  reasoningField: 'reasoning',
  cachedZero: 'present',
  enablePromptTokensDetails: true,
  metricGeneration: 'new',
  toolIds: 'present',
  toolDeltas: 'bare',
  fingerprint: 'on',
  contextSentence: 'v2026b',
  imageErrors: 422,
  queueCap: null,
  keepaliveCommentsSeconds: null,
  forceIncludeUsage: false,
  frozenGauges: false,
  missingMetrics: [],
  metricsDelayMs: 0,
  failingMetrics: false,
  advertisedMaxModelLen: null,
} satisfies Partial<Knobs>;

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator([{ maxModelLen: 512 }]);
});
afterAll(() => simulator.close());
afterEach(() => turn(normal));

const turn = (knobs: Partial<Knobs>) => admin(simulator, 'config', knobs);
const ask = (content: unknown, fields: object = {}, headers = {}) =>
  post(`${simulator.url}/v1/chat/completions`, chat(content, fields), headers);
const chunksOf = async (content: string, fields: object = {}) => {
  const events = await readEvents(await ask(content, { stream: true, ...fields }));
  return events.filter((event) => event !== '[DONE]').map((event) => JSON.parse(event));
};
const metrics = async () => (await fetch(`${simulator.url}/metrics`)).text();
const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };

describe('errors', () => {
  it('are flat in older releases, in answers and in streams', async () => {
    await turn({ errorShape: 'flat' });
    const unknown = await ask('x', { model: 'nope' });
    expect([unknown.status, await unknown.json()]).toEqual([
      404,
      { object: 'error', message: 'The model `nope` does not exist.', type: 'NotFoundError', param: null, code: 404 },
    ]);
    const chunks = await chunksOf('[[sim: tokens=9 fault=error_event]]');
    expect(chunks.at(-1)).toEqual({
      error: { object: 'error', message: 'Internal server error', type: 'InternalServerError', param: null, code: 500 },
    });
  });

  it.each([
    [
      'v07',
      null,
      /^This model's maximum context length is 512 tokens\. However, you requested 514 tokens \(8 in the messages, 506 in the completion\)\./,
    ],
    [
      'v2026a',
      'input_tokens',
      /^You passed 8 input tokens and requested 506 output tokens\. However, the model's context length is only 512 tokens/,
    ],
    ['v2026b', 'input_tokens', /at least 8 input tokens, for a total of at least 514 tokens/],
  ] as const)('of the context are worded as in %s', async (contextSentence, param, message) => {
    await turn({ contextSentence });
    const response = await ask('x', { max_tokens: 506 });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: expect.objectContaining({ type: 'BadRequestError', param, message: expect.stringMatching(message) }) },
    ]);
  });

  it('of the context, as of v0.32, are for a prompt alone; what is asked for beyond the window is cut', async () => {
    await turn({ contextSentence: 'v032' });
    const cut = await ask('[[sim: tokens=600]]', { max_tokens: 506 });
    expect(await cut.json()).toMatchObject({ choices: [{ finish_reason: 'length' }], usage: { total_tokens: 512 } });
    const tooLong = await ask('x '.repeat(600), { max_tokens: 1 });
    expect(await tooLong.json()).toMatchObject({
      error: { param: 'input_tokens', message: expect.stringMatching(/at least 513 input tokens, which exceeds/) },
    });
  });

  it.each([
    [422, 'UnprocessableEntityError', 'image_url'],
    [400, 'BadRequestError', null],
  ] as const)('of an image that would have to be fetched are %i', async (imageErrors, type, param) => {
    await turn({ imageErrors });
    const response = await ask([{ type: 'image_url', image_url: { url: 'https://example.com/x.png' } }]);
    expect([response.status, await response.json()]).toEqual([
      imageErrors,
      { error: expect.objectContaining({ type, param, message: expect.stringContaining('Failed to fetch media') }) },
    ]);
  });

  it('of a full queue are 503 without Retry-After, and counted', async () => {
    await turn({ queueCap: 2 });
    await admin(simulator, 'pause', {});
    const [first, second] = [ask('x', {}, { 'x-request-id': 'one' }), ask('x', {}, { 'x-request-id': 'two' })];
    await Promise.all([servedRequest(simulator, 'one', () => true), servedRequest(simulator, 'two', () => true)]);
    const refused = await ask('x');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, null]);
    expect(await refused.json()).toMatchObject({ error: { type: 'Service Unavailable', code: 503 } });
    expect(await metrics()).toMatch(/vllm:admission_rejections_total\{[^}]*reason="max_num_queued_reqs"\} 1\n/);
    await admin(simulator, 'resume', {});
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    expect((await ask('[[sim: tokens=2]]', { n: 3 })).status).toBe(503);
  });
});

describe('answers', () => {
  it.each([
    ['reasoning', ['reasoning']],
    ['reasoning_content', ['reasoning_content']],
    ['both', ['reasoning', 'reasoning_content']],
  ] as const)('call thinking %s', async (reasoningField, names) => {
    await turn({ reasoningField });
    const content = '[[sim: reasoning="let me think" text="done"]]';
    const whole = (await (await ask(content)).json()) as { choices: { message: Record<string, unknown> }[] };
    const message = whole.choices[0]?.message ?? {};
    const told = Object.keys(message).filter((name) => name.startsWith('reasoning'));
    expect(told).toEqual(names);
    for (const name of names) expect(message[name]).toBe('let me think');
    const [, first] = await chunksOf(content);
    expect(Object.keys(first.choices[0].delta)).toEqual(names);
  });

  it('tell zero cached tokens or leave them out', async () => {
    const detailsOf = async (salt: string) => {
      const answer = await ask('x'.repeat(200), { cache_salt: salt });
      return ((await answer.json()) as { usage: { prompt_tokens_details: unknown } }).usage.prompt_tokens_details;
    };
    expect(await detailsOf('a')).toEqual({ cached_tokens: 0, created_cache_tokens: 64, multimodal_tokens: null });
    await turn({ cachedZero: 'absent' });
    expect(await detailsOf('b')).toBeNull();
    expect(await detailsOf('b')).toEqual({ cached_tokens: expect.any(Number) });
    await turn({ enablePromptTokensDetails: false });
    expect(await detailsOf('b')).toBeNull();
  });

  it('leave out the ids of tool calls', async () => {
    await turn({ toolIds: 'missing' });
    const fields = { tools: [tool], tool_choice: 'required' };
    const whole = (await (await ask('x', fields)).json()) as { choices: { message: { tool_calls: object[] } }[] };
    expect(whole.choices[0]?.message.tool_calls).toEqual([
      { type: 'function', function: { name: 'f', arguments: '{}' } },
    ]);
    const deltas = (await chunksOf('x', fields)).flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.some((delta) => 'id' in delta)).toBe(false);
  });

  it.each([
    [
      'bare',
      { content: null, tool_calls: [{ index: 0, id: expect.any(String), type: 'function', function: { name: 'f' } }] },
    ],
    [
      'full',
      { tool_calls: [{ index: 0, id: expect.any(String), type: 'function', function: { name: 'f', arguments: '' } }] },
    ],
  ] as const)('begin a tool call with a %s delta', async (toolDeltas, delta) => {
    await turn({ toolDeltas });
    const [, first] = await chunksOf('x', { tools: [tool], tool_choice: 'required' });
    expect(first.choices[0].delta).toEqual(delta);
  });

  it('have no fingerprint', async () => {
    await turn({ fingerprint: 'off' });
    expect(await (await ask('x')).json()).toMatchObject({ system_fingerprint: null });
    expect(JSON.stringify(await chunksOf('x'))).not.toContain('fingerprint');
  });

  it('carry usage on every chunk, asked or not', async () => {
    await turn({ forceIncludeUsage: true });
    const chunks = await chunksOf('[[sim: tokens=3]]');
    expect(chunks.map(({ usage }) => usage.completion_tokens)).toEqual([0, 1, 2, 3, 3]);
    expect(chunks.at(-1).choices).toEqual([]);
  });

  it('carry comments through a silence', async () => {
    await turn({ keepaliveCommentsSeconds: 0.01 });
    const comments = ': keep-alive\n\n'.repeat(3);
    const url = `${simulator.url}/v1/chat/completions`;
    const { text } = await postRaw(url, chat('[[sim: ttft_ms=600000]]', { stream: true }), {
      isEnough: (received) => received.includes(comments),
    });
    expect(text.startsWith(comments)).toBe(true);
  });

  it('tell a window that is not the true one', async () => {
    await turn({ advertisedMaxModelLen: 4_096 });
    const { data } = (await (await fetch(`${simulator.url}/v1/models`)).json()) as { data: object[] };
    expect(data).toEqual([expect.objectContaining({ max_model_len: 4_096 })]);
    expect((await ask('x', { max_tokens: 600 })).status).toBe(400);
  });
});

describe('metrics', () => {
  it('go by the names of older releases', async () => {
    await turn({ metricGeneration: 'old' });
    const old = await metrics();
    for (const name of [
      'gpu_cache_usage_perc',
      'gpu_prefix_cache_queries_total',
      'gpu_prefix_cache_hits_total',
      'time_per_output_token_seconds_bucket',
      'num_requests_running',
    ]) {
      expect(old).toContain(`vllm:${name}{`);
    }
    expect(old).not.toMatch(/vllm:(kv_cache|prefix_cache|inter_token|num_requests_waiting_by|admission)/);
  });

  it('lack names', async () => {
    await turn({ missingMetrics: ['vllm:num_requests_waiting', 'vllm:generation_tokens_total'] });
    const text = await metrics();
    expect(text).not.toMatch(/vllm:(num_requests_waiting\{|generation_tokens)/);
    expect(text).toContain('vllm:num_requests_running{');
  });

  it('freeze their gauges while counters go on', async () => {
    await turn({ frozenGauges: true });
    const before = await metrics();
    await admin(simulator, 'pause', {});
    const answer = ask('[[sim: tokens=5]]', {}, { 'x-request-id': 'frozen' });
    await servedRequest(simulator, 'frozen', () => true);
    expect(await metrics()).toMatch(/vllm:num_requests_waiting\{[^}]*\} 0\n/);
    await admin(simulator, 'resume', {});
    await answer;
    expect(await metrics()).not.toBe(before);
  });

  it('come late, or not at all', async () => {
    await turn({ metricsDelayMs: 600_000 });
    await expect(fetch(`${simulator.url}/metrics`, { signal: AbortSignal.timeout(50) })).rejects.toThrow();
    await turn({ metricsDelayMs: 20 });
    expect(await metrics()).toContain('vllm:');
    await turn({ failingMetrics: true });
    expect((await fetch(`${simulator.url}/metrics`)).status).toBe(500);
  });
});
