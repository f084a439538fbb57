import { expect } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { expectBilled, expectNotAdmitted, expectUnbilled, type SeenUsage } from '../../support/expectBilled.ts';
import { findServed } from '../../support/findServed.ts';
import { leaveUnheard } from '../../support/leaveUnheard.ts';
import { listRunning } from '../../support/listRunning.ts';
import { type Account, makeAccount } from '../../support/makeAccount.ts';
import { whileHeld } from '../../support/orderEngines.ts';
import { readFirstEvent } from '../../support/postJson.ts';
import { toNano } from '../../support/priceOf.ts';
import { splitEvents } from '../../support/splitEvents.ts';
import { createClient } from '../support/http.ts';
import { stack } from '../support/plainStack.ts';
import { row } from '../support/row.ts';
import { invalid, PNG } from '../support/shapes.ts';
import { TOOLS } from '../support/tools.ts';

const MODEL = 'llama-3.3-70b-instruct';
const OTHER_MODEL = 'llama-3.1-8b-instruct';
const FREE_MODEL = 'smollm2-1.7b-instruct';
const EMBEDDING_MODEL = 'bge-m3';
const VISION_MODEL = 'qwen2.5-vl-7b-instruct';
const MODEL_WITHOUT_TOOLS = 'deepseek-r1-0528';

const aChat = (directives: string, fields: object = {}) => ({
  model: MODEL,
  messages: [{ role: 'user', content: `hi [[sim: ttft_ms=0 itl_ms=0 ${directives}]]` }],
  ...fields,
});
const chat = (account: Account, directives = 'tokens=3', fields: object = {}) =>
  account.post('/chat/completions', aChat(directives, fields));
const withImage = (url: string) => ({
  model: VISION_MODEL,
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
});
const usageOf = async (response: Response) => ((await response.json()) as { usage: SeenUsage }).usage;

row('billing.whole', async () => {
  const account = await makeAccount(stack);
  const response = await chat(account, 'tokens=40');
  await expectBilled(account, { headers: response.headers, model: MODEL, usage: await usageOf(response) });
  const served = await findServed(stack, response.headers);
  expect(served).toMatchObject({ completionTokens: 40 });
});

row('billing.stream', async () => {
  const account = await makeAccount(stack);
  const response = await chat(account, 'tokens=40', { stream: true });
  await response.text();
  const record = await account.untilUsage(response.headers);
  expect(record).toMatchObject({ status: 'success', completion_tokens: 40 });
  const { promptTokens } = (await findServed(stack, response.headers)) ?? {};
  expect(record.prompt_tokens).toBe(promptTokens);
  await expectBilled(account, { headers: response.headers, model: MODEL, usage: record });
});

row('billing.include_usage', async () => {
  const spends = await Promise.all(
    [true, false].map(async (asked) => {
      const account = await makeAccount(stack);
      const response = await chat(account, 'tokens=40', { stream: true, stream_options: { include_usage: asked } });
      await response.text();
      return (await account.untilUsage(response.headers)).total_spend;
    }),
  );
  expect(spends[0]).toBeGreaterThan(0);
  expect(spends[0]).toBe(spends[1]);
});

row('billing.client-leaves-stream', async () => {
  const account = await makeAccount(stack);
  const leaving = new AbortController();
  const asked = aChat('itl_ms=10 tokens=4000', { stream: true });
  const response = await createClient(stack.baseUrl, account.apiKey).open('/chat/completions', asked, leaving.signal);
  await readFirstEvent(response);
  leaving.abort();
  const record = await account.untilUsage(response.headers);
  const served = await until('the engine to stop', async () => {
    const call = await findServed(stack, response.headers);
    return call?.state === 'aborted' ? call : undefined;
  });
  expect(record).toMatchObject({ status: 'success', prompt_tokens: served.promptTokens });
  expect(record.completion_tokens).toBeGreaterThan(0);
  expect(record.completion_tokens).toBeLessThanOrEqual(served.completionTokens);
  await expectBilled(account, { headers: response.headers, model: MODEL, usage: record });
});

row('billing.client-leaves-unheard', async () => {
  const account = await makeAccount(stack);
  const body = aChat('ttft_ms=1500 itl_ms=50 tokens=4000');
  const headers = await leaveUnheard(stack, { account, body });
  const record = await account.untilUsage(headers);
  const served = await until('the engine to stop', async () => {
    const call = await findServed(stack, headers);
    return call?.state === 'aborted' ? call : undefined;
  });
  expect(record).toMatchObject({ status: 'success', prompt_tokens: served.promptTokens });
  expect(record.completion_tokens).toBeLessThanOrEqual(served.completionTokens);
  expect(served.completionTokens).toBeLessThan(400);
  await expectBilled(account, { headers, model: MODEL, usage: record });
});

row('billing.client-leaves-uncounted', async () => {
  const account = await makeAccount(stack, { tpm: 100 });
  const body = aChat(`ttft_ms=60000]] ${'far too long '.repeat(400)} [[sim: tokens=2`);
  const headers = await leaveUnheard(stack, { account, body });
  const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, total_spend: 0 };
  expect(await account.untilUsage(headers)).toMatchObject({ status: 'unknown', ...zero });
  expect(await account.findSpend()).toBe(0n);
  // The engine stopped, and what was taken of the minute's tokens for the prompt is not given back.
  expect(await findServed(stack, headers)).toMatchObject({ state: 'aborted' });
  expect((await chat(account)).status).toBe(429);
});

row('billing.client-leaves-whole', async () => {
  const directives = 'tokens=100 ttft_ms=0 itl_ms=0';
  for (const [path, body] of [
    ['/chat/completions', aChat(directives)],
    ['/completions', { model: MODEL, prompt: `Go on. [[sim: ${directives}]]`, max_tokens: 200 }],
  ] as const) {
    const account = await makeAccount(stack);
    const leaving = new AbortController();
    const callId = await whileHeld(stack, async () => {
      const left = createClient(stack.baseUrl, account.apiKey).open(path, body, leaving.signal);
      const running = await until('the engine to be at it', async () => (await listRunning(stack)).flat()[0]);
      leaving.abort();
      await expect(left).rejects.toThrow();
      return running;
    });
    const headers = new Headers({ 'x-router-call-id': callId });
    const { state, promptTokens, completionTokens } = await until('the engine to have finished', async () => {
      const call = await findServed(stack, headers);
      return call?.state === 'running' ? undefined : call;
    });
    expect({ state, completionTokens }).toEqual({ state: 'finished', completionTokens: 100 });
    const usage = { prompt_tokens: promptTokens, completion_tokens: 100, total_tokens: promptTokens + 100 };
    await expectBilled(account, { headers, model: MODEL, usage });
  }
});

row('billing.engine-fails', async () => {
  for (const stream of [true, false]) {
    for (const fault of ['reset_mid_stream', 'http_500', 'error_event']) {
      const account = await makeAccount(stack);
      const response = await chat(account, `tokens=50 fault=${fault} after=5`, { stream });
      await response.text();
      await expectUnbilled(account, response.headers);
    }
  }
});

row('billing.image-unfetchable', async () => {
  const account = await makeAccount(stack);
  const response = await chat(account, '', withImage('http://127.0.0.1/cat.png'));
  expect({ status: response.status, body: await response.json() }).toEqual({ status: 400, body: invalid('messages') });
  await expectUnbilled(account, response.headers);
});

row('billing.refused-by-engine', async () => {
  const account = await makeAccount(stack);
  const response = await chat(account, 'no-such-directive');
  expect(response.status).toBe(400);
  await expectUnbilled(account, response.headers);
});

row('billing.forced-tool-missing', async () => {
  for (const stream of [true, false]) {
    const account = await makeAccount(stack);
    const response = await chat(account, 'no_tool_call', { stream, tools: TOOLS, tool_choice: 'required' });
    expect(response.status).toBe(400);
    await expectUnbilled(account, response.headers);
  }
});

row('billing.no-count', async () => {
  for (const stream of [true, false]) {
    const account = await makeAccount(stack);
    const response = await chat(account, 'tokens=20 fault=no_usage', { stream });
    const text = await response.text();
    if (stream) {
      expect(text).not.toContain('[DONE]');
      expect(JSON.parse(splitEvents(text).at(-1) ?? '')).toMatchObject({ error: { type: 'server_error' } });
    }
    const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, total_spend: 0 };
    expect(await account.untilUsage(response.headers)).toMatchObject({ status: 'unknown', ...zero });
    expect(await account.findSpend()).toBe(0n);
  }
});

row('billing.refused-at-gate', async () => {
  const account = await makeAccount(stack, { maxBudgetUsd: '0.0001' });
  const refused: [number, string, object][] = [
    [404, '/chat/completions', aChat('', { model: 'no-such-model' })],
    [402, '/chat/completions', aChat('', { max_tokens: 2_000 })],
  ];
  // Each with its param: what a model does not take, and what is no image.
  const invalidCalls: [string, string, object][] = [
    ['n', '/chat/completions', aChat('', { n: 2 })],
    ['model', '/chat/completions', aChat('', { model: EMBEDDING_MODEL })],
    ['model', '/completions', { model: EMBEDDING_MODEL, prompt: 'hi' }],
    ['model', '/embeddings', { model: MODEL, input: 'hi' }],
    ['tools', '/chat/completions', aChat('', { model: MODEL_WITHOUT_TOOLS, tools: TOOLS })],
    ['messages', '/chat/completions', aChat('', withImage('file:///etc/hostname'))],
    ['messages', '/chat/completions', aChat('', withImage('data:image/svg+xml;base64,PHN2Zy8+'))],
    ['messages', '/chat/completions', aChat('', { ...withImage(PNG), model: MODEL })],
  ];
  const headers: Headers[] = [];
  for (const [status, path, body] of refused) {
    const response = await account.post(path, body);
    expect({ body, status: response.status }).toEqual({ body, status });
    headers.push(response.headers);
  }
  for (const [param, path, body] of invalidCalls) {
    const response = await account.post(path, body);
    const answer = { body, status: response.status, error: await response.json() };
    expect(answer).toEqual({ body, status: 400, error: invalid(param) });
    headers.push(response.headers);
  }
  await expectNotAdmitted(account, ...headers);
});

row('billing.cached', async () => {
  const account = await makeAccount(stack);
  const colleague = await makeAccount(stack, { workspaceId: account.workspaceId });
  const messages = [{ role: 'user', content: `${'the same beginning '.repeat(60)}[[sim: tokens=2]]` }];
  const ask = (by: Account) => by.post('/chat/completions', { model: MODEL, messages });
  const first = await ask(account);
  const full = await expectBilled(account, { headers: first.headers, model: MODEL, usage: await usageOf(first) });
  for (const { by, spentBefore } of [
    { by: account, spentBefore: full },
    { by: colleague, spentBefore: 0n },
  ]) {
    const again = await ask(by);
    const usage = await usageOf(again);
    expect(usage.cache_read_input_tokens).toBeGreaterThan(0);
    const less = await expectBilled(by, { headers: again.headers, model: MODEL, usage, spentBefore });
    expect(less).toBeLessThan(full);
  }
});

row('billing.reasoning', async () => {
  const account = await makeAccount(stack);
  const model = 'deepseek-r1-0528';
  const response = await chat(account, 'tokens=40 reasoning="Let me think of it."', { model });
  const usage = await usageOf(response);
  expect(usage.completion_tokens).toBe(40);
  await expectBilled(account, { headers: response.headers, model, usage });
});

row('billing.embeddings', async () => {
  for (const input of ['À bientôt, mon ami', ['one text', 'and another', '天気はどうですか 😀']]) {
    const account = await makeAccount(stack);
    const response = await account.post('/embeddings', { model: EMBEDDING_MODEL, input });
    await expectBilled(account, { headers: response.headers, model: EMBEDDING_MODEL, usage: await usageOf(response) });
  }
});

row('billing.completions', async () => {
  const account = await makeAccount(stack);
  const response = await account.post('/completions', { model: MODEL, prompt: 'hi [[sim: tokens=9]]' });
  await expectBilled(account, { headers: response.headers, model: MODEL, usage: await usageOf(response) });
});

row('billing.free', async () => {
  const account = await makeAccount(stack, { workspaceId: await stack.operator.makeWorkspace() });
  const response = await chat(account, 'tokens=9', { model: FREE_MODEL });
  expect(response.status).toBe(200);
  const record = await account.untilUsage(response.headers);
  expect(record).toMatchObject({ status: 'success', completion_tokens: 9, total_spend: 0 });
  expect(await account.findSpend()).toBe(0n);
});

row('billing.sum', async () => {
  const account = await makeAccount(stack);
  const responses = await Promise.all(
    [7, 13, 29].map((tokens) => chat(account, `tokens=${tokens}`, { model: OTHER_MODEL })),
  );
  const records = await Promise.all(responses.map(({ headers }) => account.untilUsage(headers)));
  const sum = records.reduce((total, { total_spend: spend }) => total + toNano(spend), 0n);
  expect(sum).toBeGreaterThan(0n);
  expect(await account.findSpend()).toBe(sum);
});
