import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { contentOf, readEvents, toChunks } from './support/readEvents.ts';
import { chat, post, servedRequest, startTestSimulator, type TestSimulator } from './support/testSimulator.ts';

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator([{ maxModelLen: 200_000 }, { servedModelNames: ['measured'] }]);
});
afterAll(() => simulator.close());

const path = '/v1/chat/completions';
const admin = async (route: string, body: object = {}) => (await post(simulator.adminUrl + route, body)).json();
describe('a client that leaves', () => {
  it('in the middle of a stream stops it there, and is counted as an abort', async () => {
    const abort = new AbortController();
    const response = await fetch(simulator.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': 'leaver' },
      body: JSON.stringify(chat('[[sim: tokens=100000 itl_ms=1]]', { stream: true })),
      signal: abort.signal,
    });
    await response.body?.getReader().read();
    await servedRequest(simulator, 'leaver', ({ completionTokens }) => completionTokens > 3);
    abort.abort();
    const entry = await servedRequest(simulator, 'leaver');
    expect(entry).toMatchObject({ state: 'aborted', finishReason: 'abort' });
    expect(entry.completionTokens).toBeLessThan(100_000);
    expect(await servedRequest(simulator, 'leaver')).toEqual(entry);
    const metrics = await (await fetch(`${simulator.url}/metrics`)).text();
    expect(metrics).toMatch(/vllm:request_success_total\{[^}]*finished_reason="abort"\} 1\n/);
  });

  it('before the first token stops a whole answer too', async () => {
    const abort = new AbortController();
    const answer = fetch(simulator.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': 'early-leaver' },
      body: JSON.stringify(chat('[[sim: ttft_ms=600000]]')),
      signal: abort.signal,
    });
    await servedRequest(simulator, 'early-leaver', ({ state }) => state === 'running');
    abort.abort();
    await expect(answer).rejects.toThrow();
    expect(await servedRequest(simulator, 'early-leaver')).toMatchObject({ state: 'aborted', completionTokens: 0 });
  });
});

describe('a slow reader', () => {
  it('gets merged deltas and all of the text', async () => {
    const body = chat('[[sim: tokens=60000 ]]', { stream: true, max_tokens: 60_000 });
    const events = await new Promise<string[]>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'x-request-id': 'slow' };
      const req = request(simulator.url + path, { method: 'POST', headers }, (res) => {
        // Reads nothing until the engine is done: what does not fit into the socket has to wait in one piece.
        servedRequest(simulator, 'slow')
          .then(() => readEvents(new Response(res as unknown as ReadableStream)))
          .then(resolve, reject);
      });
      req.once('error', reject);
      req.end(JSON.stringify(body));
    });
    expect(events.at(-1)).toBe('[DONE]');
    expect(events.length).toBeLessThan(40_000);
    const { choices } = (await (await post(simulator.url + path, { ...body, stream: false })).json()) as {
      choices: { message: { content: string } }[];
    };
    expect(contentOf(toChunks(events))).toBe(choices[0]?.message.content);
  });
});

describe('the admin port', () => {
  it('holds and lets go all generation', async () => {
    await admin('/admin/pause');
    const answer = post(simulator.url + path, chat('Hi'), { 'x-request-id': 'held' });
    expect(await servedRequest(simulator, 'held', () => true)).toMatchObject({ state: 'running', completionTokens: 0 });
    expect(await (await fetch(`${simulator.url}/metrics`)).text()).toMatch(/vllm:num_requests_waiting\{[^}]*\} 1\n/);
    await fetch(`${simulator.adminUrl}/admin/resume`, { method: 'POST' });
    expect((await answer).status).toBe(200);
  });

  it('changes the knobs of one engine at run time', async () => {
    const [first, second] = simulator.urls.map((url) => Number(new URL(url).port));
    expect(await admin('/admin/config', { port: second, timeToFirstTokenMs: 5, maxNumSeqs: 3 })).toEqual({
      engines: [
        expect.objectContaining({ port: first, timeToFirstTokenMs: 0, maxNumSeqs: 256 }),
        expect.objectContaining({ port: second, timeToFirstTokenMs: 5, maxNumSeqs: 3 }),
      ],
    });
    expect(await admin('/admin/config', { maxNumSeqs: 0 })).toMatchObject({ error: { param: 'body.maxNumSeqs' } });
    expect(await admin('/admin/config', { port: 1 })).toMatchObject({ error: { code: 404 } });
  });

  it('counts in the metrics what an engine did', async () => {
    const [, url = ''] = simulator.urls;
    for (const tokens of [10, 20]) await post(url + path, { ...chat(`[[sim: tokens=${tokens}]]`), model: 'measured' });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const labels = 'engine="0",model_name="measured"';
    for (const line of [
      `vllm:generation_tokens_total{${labels}} 30`,
      `vllm:request_success_total{${labels},finished_reason="stop"} 2`,
      `vllm:num_requests_running{${labels}} 0`,
      `vllm:kv_cache_usage_perc{${labels}} 0`,
    ]) {
      expect(metrics).toContain(`${line}\n`);
    }
  });
});
