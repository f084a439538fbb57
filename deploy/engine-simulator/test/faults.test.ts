import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { contentOf, readEvents, toChunks } from './support/readEvents.ts';
import { chat, portOf, post, servedRequest, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator([{}, { servedModelNames: ['other-model'] }]);
});
afterAll(() => simulator.close());

const path = '/v1/chat/completions';
const usage = { stream: true, stream_options: { include_usage: true } };
let calls = 0;

async function call(content: string, fields: object = {}, url = simulator.url) {
  calls += 1;
  const requestId = `fault-${calls}`;
  const response = await post(url + path, { ...chat(content, fields), model: null }, { 'x-request-id': requestId });
  return { response, requestId };
}

describe('a stream with a fault', () => {
  it('reset_mid_stream breaks the connection after the tokens before it', async () => {
    const { response, requestId } = await call('[[sim: tokens=50 fault=reset_mid_stream after=5]]', usage);
    expect(response.status).toBe(200);
    await expect(readEvents(response)).rejects.toThrow();
    expect(await servedRequest(simulator, requestId)).toMatchObject({ state: 'failed', completionTokens: 5 });
  });

  it('breaks before the first chunk when no token is to come before', async () => {
    const { response } = await call('[[sim: tokens=50 fault=close_without_done after=0]]', usage);
    expect(await readEvents(response)).toEqual([]);
    const broken = await call('[[sim: tokens=50 fault=reset_mid_stream after=0]]', usage);
    await expect(readEvents(broken.response)).rejects.toThrow();
  });

  it('error_event tells of the failure and ends with [DONE], without a finish reason or usage', async () => {
    const { response } = await call('[[sim: tokens=50 fault=error_event after=3]]', usage);
    const events = await readEvents(response);
    expect(events.at(-1)).toBe('[DONE]');
    const chunks = toChunks(events);
    expect(chunks.at(-1)?.error).toEqual({
      message: 'Internal server error',
      type: 'InternalServerError',
      param: null,
      code: 500,
    });
    expect(chunks).toHaveLength(1 + 3 + 1);
    expect(chunks.some((chunk) => chunk.usage || chunk.choices?.[0]?.finish_reason)).toBe(false);
  });

  it('close_without_done ends cleanly in the middle', async () => {
    const { response, requestId } = await call('[[sim: tokens=50 fault=close_without_done after=4]]', usage);
    const events = await readEvents(response);
    expect(events).toHaveLength(1 + 4);
    expect(events.at(-1)).not.toBe('[DONE]');
    expect(await servedRequest(simulator, requestId)).toMatchObject({ state: 'failed', completionTokens: 4 });
  });

  it('stall goes silent until the client leaves, which counts as an abort', async () => {
    const { response, requestId } = await call('[[sim: tokens=50 fault=stall after=2]]', usage);
    const reader = response.body?.getReader();
    await servedRequest(simulator, requestId, ({ completionTokens }) => completionTokens === 2);
    await reader?.cancel();
    expect(await servedRequest(simulator, requestId)).toMatchObject({ state: 'aborted', completionTokens: 2 });
  });

  it('abort ends with the finish reason abort', async () => {
    const { response, requestId } = await call('[[sim: tokens=50 fault=abort after=2]]', usage);
    const finishes = toChunks(await readEvents(response)).flatMap(({ choices }) => choices[0]?.finish_reason ?? []);
    expect(finishes).toEqual(['abort']);
    expect(await servedRequest(simulator, requestId)).toMatchObject({ state: 'failed', finishReason: 'abort' });
  });

  it('no_usage keeps silent about what was used, though asked', async () => {
    const { response, requestId } = await call('[[sim: tokens=5 fault=no_usage]]', usage);
    const events = await readEvents(response);
    expect(events.at(-1)).toBe('[DONE]');
    expect(toChunks(events).some((chunk) => chunk.usage)).toBe(false);
    expect(await servedRequest(simulator, requestId)).toMatchObject({ state: 'finished', completionTokens: 5 });
  });

  it('strikes an answer that is shorter than the fault waits', async () => {
    const { response } = await call('[[sim: tokens=3 fault=error_event after=100]]', usage);
    expect(toChunks(await readEvents(response)).at(-1)?.error?.code).toBe(500);
  });
});

describe('a whole answer with a fault', () => {
  it.each([
    ['http_500', 500, 'InternalServerError'],
    ['http_503', 503, 'Service Unavailable'],
    ['error_event', 500, 'InternalServerError'],
  ])('%s answers %i', async (fault, status, type) => {
    const { response } = await call(`[[sim: fault=${fault}]]`);
    expect(response.status).toBe(status);
    expect(response.headers.get('retry-after')).toBeNull();
    expect(await response.json()).toMatchObject({ error: { type, code: status } });
  });

  it('no_usage has null for usage', async () => {
    const { response } = await call('[[sim: fault=no_usage]]');
    expect(await response.json()).toMatchObject({ usage: null });
  });

  it('reset_mid_stream breaks the connection before the answer', async () => {
    await expect(call('[[sim: fault=reset_mid_stream]]')).rejects.toThrow();
  });
});

describe('fault rules', () => {
  const setRules = (rules: object[]) => post(`${simulator.adminUrl}/admin/faults`, rules);
  const clearRules = () => fetch(`${simulator.adminUrl}/admin/faults`, { method: 'DELETE' });
  const statuses = async (requests: [string, string?][]) => {
    const seen: number[] = [];
    for (const [content, url] of requests) seen.push((await call(content, {}, url)).response.status);
    return seen;
  };

  it('strike every Nth request that matches, until they are cleared', async () => {
    await setRules([{ match: { port: portOf(simulator.url), everyNth: 2 }, fault: 'http_503' }]);
    const [, other = ''] = simulator.urls;
    expect(await statuses([['a'], ['b', other], ['c'], ['d'], ['e']])).toEqual([200, 200, 503, 200, 503]);
    await clearRules();
    expect(await statuses([['a'], ['b'], ['c']])).toEqual([200, 200, 200]);
  });

  it('strike a stream in the middle', async () => {
    await setRules([{ fault: 'close_without_done', after: 2 }]);
    const { response } = await call('[[sim: tokens=9]]', usage);
    expect(contentOf(toChunks(await readEvents(response))).split(' ')).toHaveLength(2);
    await clearRules();
  });

  it('are refused when they are not understood', async () => {
    const response = await setRules([{ fault: 'meteor' }]);
    expect(response.status).toBe(400);
    expect(await statuses([['a']])).toEqual([200]);
  });
});
