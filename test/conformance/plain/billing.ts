import { expect } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { expectBilled, expectNotAdmitted, expectUnbilled, type SeenUsage } from '../../support/expectBilled.ts';
import { findServed } from '../../support/findServed.ts';
import { listRunning } from '../../support/listRunning.ts';
import { type Caller, makeCaller } from '../../support/makeCaller.ts';
import { whileHeld } from '../../support/orderEngines.ts';
import { readFirstEvent } from '../../support/postJson.ts';
import { priceOf, toNano } from '../../support/priceOf.ts';
import { createClient } from '../support/http.ts';
import { stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';

const MODEL = 'llama-3.3-70b-instruct';
const OTHER_MODEL = 'llama-3.1-8b-instruct';
const FREE_MODEL = 'smollm2-1.7b-instruct';
const TOOLS = [{ type: 'function', function: { name: 'forecast', parameters: { type: 'object' } } }];

const aChat = (directives: string, fields: object = {}) => ({
  model: MODEL,
  messages: [{ role: 'user', content: `hi [[sim: ttft_ms=0 itl_ms=0 ${directives}]]` }],
  ...fields,
});
const chat = (caller: Caller, directives = 'tokens=3', fields: object = {}) =>
  caller.post('/chat/completions', aChat(directives, fields));
const usageOf = async (response: Response) => ((await response.json()) as { usage: SeenUsage }).usage;

row('billing.whole', async () => {
  const caller = await makeCaller(stack);
  const response = await chat(caller, 'tokens=40');
  await expectBilled(caller, { headers: response.headers, model: MODEL, usage: await usageOf(response) });
  const served = await findServed(stack, response.headers);
  expect(served).toMatchObject({ completionTokens: 40 });
});

row('billing.stream', async () => {
  const caller = await makeCaller(stack);
  const response = await chat(caller, 'tokens=40', { stream: true });
  await response.text();
  const record = await caller.untilUsage(response.headers);
  expect(record).toMatchObject({ status: 'success', completion_tokens: 40 });
  const { promptTokens } = (await findServed(stack, response.headers)) ?? {};
  expect(record.prompt_tokens).toBe(promptTokens);
  await expectBilled(caller, { headers: response.headers, model: MODEL, usage: record });
});

row('billing.include_usage', async () => {
  const spends = await Promise.all(
    [true, false].map(async (asked) => {
      const caller = await makeCaller(stack);
      const response = await chat(caller, 'tokens=40', { stream: true, stream_options: { include_usage: asked } });
      await response.text();
      return (await caller.untilUsage(response.headers)).total_spend;
    }),
  );
  expect(spends[0]).toBeGreaterThan(0);
  expect(spends[0]).toBe(spends[1]);
});

row('billing.client-leaves-stream', async () => {
  const caller = await makeCaller(stack);
  const leaving = new AbortController();
  const asked = aChat('itl_ms=10 tokens=4000', { stream: true });
  const response = await createClient(stack.baseUrl, caller.apiKey).open('/chat/completions', asked, leaving.signal);
  await readFirstEvent(response);
  leaving.abort();
  const record = await caller.untilUsage(response.headers);
  const served = await until('the engine to stop', async () => {
    const call = await findServed(stack, response.headers);
    return call?.state === 'aborted' ? call : undefined;
  });
  expect(record).toMatchObject({ status: 'success', prompt_tokens: served.promptTokens });
  expect(record.completion_tokens).toBeGreaterThan(0);
  expect(record.completion_tokens).toBeLessThanOrEqual(served.completionTokens);
  await expectBilled(caller, { headers: response.headers, model: MODEL, usage: record });
});

row('billing.client-leaves-whole', async () => {
  const caller = await makeCaller(stack);
  const leaving = new AbortController();
  await whileHeld(stack, async () => {
    const client = createClient(stack.baseUrl, caller.apiKey);
    const left = client.open('/chat/completions', aChat('tokens=50'), leaving.signal);
    await until('the engine to be at it', async () => (await listRunning(stack)).flat()[0]);
    leaving.abort();
    await expect(left).rejects.toThrow();
  });
  const spent = await until('the charge', async () => (await caller.findSpend()) || undefined);
  const { body: entry } = await caller.get<{ pricing: Parameters<typeof priceOf>[1] }>(`/models/${MODEL}`);
  const completionOnly = { prompt_tokens: 0, cached_tokens: 0, completion_tokens: 50 };
  expect(spent).toBeGreaterThan(priceOf(completionOnly, entry.pricing));
});

row('billing.engine-fails', async () => {
  for (const stream of [true, false]) {
    for (const fault of ['reset_mid_stream', 'http_500', 'error_event']) {
      const caller = await makeCaller(stack);
      const response = await chat(caller, `tokens=50 fault=${fault} after=5`, { stream });
      await response.text();
      await expectUnbilled(caller, response.headers);
    }
  }
});

row('billing.refused-by-engine', async () => {
  const caller = await makeCaller(stack);
  const response = await chat(caller, 'no-such-directive');
  expect(response.status).toBe(400);
  await expectUnbilled(caller, response.headers);
});

row('billing.forced-tool-missing', async () => {
  for (const stream of [true, false]) {
    const caller = await makeCaller(stack);
    const response = await chat(caller, 'no_tool_call', { stream, tools: TOOLS, tool_choice: 'required' });
    expect(response.status).toBe(400);
    await expectUnbilled(caller, response.headers);
  }
});

row('billing.no-count', async () => {
  for (const stream of [true, false]) {
    const caller = await makeCaller(stack);
    const response = await chat(caller, 'tokens=5 fault=no_usage', { stream });
    await response.text();
    const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, total_spend: 0 };
    expect(await caller.untilUsage(response.headers)).toMatchObject({ status: 'unknown', ...zero });
    expect(await caller.findSpend()).toBe(0n);
  }
});

row('billing.refused-at-gate', async () => {
  const caller = await makeCaller(stack, { maxBudgetUsd: '0.0001' });
  for (const fields of [{ model: 'no-such-model' }, { n: 2 }, { max_tokens: 2_000 }]) {
    const response = await chat(caller, 'tokens=1', fields);
    expect([400, 402, 404]).toContain(response.status);
    await expectNotAdmitted(caller, response.headers);
  }
});

row('billing.cached', async () => {
  const caller = await makeCaller(stack);
  const messages = [{ role: 'user', content: `${'the same beginning '.repeat(60)}[[sim: tokens=2]]` }];
  const ask = () => caller.post('/chat/completions', { model: MODEL, messages });
  const first = await ask();
  const full = await expectBilled(caller, { headers: first.headers, model: MODEL, usage: await usageOf(first) });
  const again = await ask();
  const usage = await usageOf(again);
  expect(usage.cache_read_input_tokens).toBeGreaterThan(0);
  const less = await expectBilled(caller, { headers: again.headers, model: MODEL, usage, spentBefore: full });
  expect(less).toBeLessThan(full);
});

row('billing.reasoning', async () => {
  const caller = await makeCaller(stack);
  const model = 'deepseek-r1-0528';
  const response = await chat(caller, 'tokens=40 reasoning="Let me think of it."', { model });
  const usage = await usageOf(response);
  expect(usage.completion_tokens).toBe(40);
  await expectBilled(caller, { headers: response.headers, model, usage });
});

row('billing.embeddings', async () => {
  const caller = await makeCaller(stack);
  const response = await caller.post('/embeddings', { model: 'bge-m3', input: ['one text', 'and another'] });
  await expectBilled(caller, { headers: response.headers, model: 'bge-m3', usage: await usageOf(response) });
});

row('billing.completions', async () => {
  const caller = await makeCaller(stack);
  const response = await caller.post('/completions', { model: MODEL, prompt: 'hi [[sim: tokens=9]]' });
  await expectBilled(caller, { headers: response.headers, model: MODEL, usage: await usageOf(response) });
});

row('billing.free', async () => {
  const caller = await makeCaller(stack, { workspaceId: await stack.operator.makeWorkspace() });
  const response = await chat(caller, 'tokens=9', { model: FREE_MODEL });
  expect(response.status).toBe(200);
  const record = await caller.untilUsage(response.headers);
  expect(record).toMatchObject({ status: 'success', completion_tokens: 9, total_spend: 0 });
  expect(await caller.findSpend()).toBe(0n);
});

row('billing.sum', async () => {
  const caller = await makeCaller(stack);
  const responses = await Promise.all(
    [7, 13, 29].map((tokens) => chat(caller, `tokens=${tokens}`, { model: OTHER_MODEL })),
  );
  const records = await Promise.all(responses.map(({ headers }) => caller.untilUsage(headers)));
  const sum = records.reduce((total, { total_spend: spend }) => total + toNano(spend), 0n);
  expect(sum).toBeGreaterThan(0n);
  expect(await caller.findSpend()).toBe(sum);
});
