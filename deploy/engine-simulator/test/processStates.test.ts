import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readEvents } from './support/readEvents.ts';
import {
  admin,
  chat,
  portOf,
  post,
  servedRequest,
  startTestSimulator,
  type TestSimulator,
} from './support/testSimulator.ts';

let simulator: TestSimulator;
beforeEach(async () => {
  simulator = await startTestSimulator([{ watchdogMs: 600_000 }, { watchdogMs: 0 }]);
});
afterEach(() => simulator.close());

const path = '/v1/chat/completions';
const become = (state: string, url = simulator.url) => admin(simulator, 'state', { port: portOf(url), state });
const ask = (content: string, fields: object = {}, url = simulator.url, headers = {}) =>
  post(url + path, chat(content, fields), { connection: 'close', ...headers });
const running = (requestId: string) =>
  servedRequest(simulator, requestId, ({ completionTokens }) => completionTokens > 0);
const cachedTokens = async (content: string, url: string) => {
  const answer = await ask(content, {}, url);
  return ((await answer.json()) as { usage: { prompt_tokens_details: { cached_tokens: number } } }).usage
    .prompt_tokens_details.cached_tokens;
};
/** Tries until the port answers. */
async function untilHealthy(url: string): Promise<void> {
  for (;;) {
    const health = await fetch(`${url}/health`).catch(() => undefined);
    if (health?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('an engine that', () => {
  it('drains refuses what is new, finishes what runs, and looks healthy', async () => {
    const answer = ask('[[sim: tokens=40 itl_ms=5]]', {}, simulator.url, { 'x-request-id': 'old' });
    await running('old');
    await become('draining');
    const refused = await ask('x');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, null]);
    expect((await fetch(`${simulator.url}/health`)).status).toBe(200);
    expect(await (await answer).json()).toMatchObject({ usage: { completion_tokens: 40 } });
    await become('serving');
    expect((await ask('x')).status).toBe(200);
  });

  it('refuses closes its port and cuts what is open, and comes back as it was', async () => {
    const content = 'river '.repeat(40);
    await cachedTokens(content, simulator.url);
    const answer = ask('[[sim: tokens=8000 itl_ms=5]]', {}, simulator.url, { 'x-request-id': 'cut' });
    const broken = expect(answer).rejects.toThrow();
    await running('cut');
    await become('refusing');
    await broken;
    expect(await servedRequest(simulator, 'cut')).toMatchObject({ state: 'aborted' });
    await expect(ask('x')).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    await become('serving');
    expect(await cachedTokens(content, simulator.url)).toBeGreaterThan(0);
  });

  it('cuts accepts connections and closes them', async () => {
    await become('cutting');
    await expect(ask('x')).rejects.toMatchObject({
      cause: { code: expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/) },
    });
    await become('serving');
    expect((await ask('x')).status).toBe(200);
  });
});

describe('death', () => {
  it('fails all that runs, whole and streamed, and shows in /health', async () => {
    const whole = ask('[[sim: tokens=8000 itl_ms=5]]', {}, simulator.url, { 'x-request-id': 'whole' });
    const streamed = ask('[[sim: tokens=8000 itl_ms=5]]', { stream: true }, simulator.url, {
      'x-request-id': 'streamed',
    });
    await Promise.all([running('whole'), running('streamed')]);
    await become('dead');
    const error = {
      message: expect.stringMatching(/^EngineCore/),
      type: 'InternalServerError',
      param: null,
      code: 500,
    };
    expect([(await whole).status, await (await whole).json()]).toEqual([500, { error }]);
    const events = await readEvents(await streamed);
    expect([JSON.parse(events.at(-2) ?? ''), events.at(-1)]).toEqual([{ error }, '[DONE]']);
    for (const requestId of ['whole', 'streamed']) {
      expect(await servedRequest(simulator, requestId)).toMatchObject({ state: 'failed', finishReason: 'error' });
    }
    expect((await fetch(`${simulator.url}/health`)).status).toBe(503);
    expect((await ask('x')).status).toBe(500);
  });

  it('comes to others by one request, in the middle of its answer', async () => {
    const other = ask('[[sim: tokens=8000 itl_ms=5]]', {}, simulator.url, { 'x-request-id': 'other' });
    await running('other');
    const events = await readEvents(await ask('[[sim: tokens=9 fault=engine_dies after=3]]', { stream: true }));
    expect(events).toHaveLength(1 + 3 + 2);
    expect((await other).status).toBe(500);
    expect((await fetch(`${simulator.url}/health`)).status).toBe(503);
  });

  it('ends in refused connections, then in a restart with empty caches and counters', async () => {
    const [, url = ''] = simulator.urls;
    const content = 'river '.repeat(40);
    await cachedTokens(content, url);
    expect(await cachedTokens(content, url)).toBeGreaterThan(0);
    await become('dead', url);
    while (await fetch(`${url}/health`).catch(() => undefined));
    await become('serving', url);
    await untilHealthy(url);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/vllm:generation_tokens_total\{[^}]*\} 0\n/);
    expect(await cachedTokens(content, url)).toBe(0);
  });
});

describe('sleep', () => {
  it('aborts what runs, stays healthy and lets new requests wait until it is woken', async () => {
    const answer = ask('[[sim: tokens=8000 itl_ms=5]]', {}, simulator.url, { 'x-request-id': 'asleep' });
    await running('asleep');
    await become('asleep');
    expect(await (await answer).json()).toMatchObject({ choices: [{ finish_reason: 'abort' }] });
    expect((await fetch(`${simulator.url}/health`)).status).toBe(200);
    expect(await (await fetch(`${simulator.url}/metrics`)).text()).toMatch(
      /vllm:engine_sleep_state\{[^}]*sleep_state="weights_offloaded"\} 1\n/,
    );

    const waiting = ask('x', {}, simulator.url, { 'x-request-id': 'waiting' });
    expect(await servedRequest(simulator, 'waiting', () => true)).toMatchObject({
      state: 'running',
      completionTokens: 0,
    });
    await become('serving');
    expect((await waiting).status).toBe(200);
  });

  it('forgets the prefixes', async () => {
    const content = 'river '.repeat(40);
    await ask(content);
    await become('asleep');
    await become('serving');
    expect(await cachedTokens(content, simulator.url)).toBe(0);
  });
});

it('a port that somebody else took meanwhile is taken back as soon as it is free', async () => {
  await become('refusing');
  const squatter = createServer();
  await new Promise<void>((resolve) => squatter.listen(portOf(simulator.url), '127.0.0.1', resolve));
  await become('serving');
  await new Promise((resolve) => squatter.close(resolve));
  await untilHealthy(simulator.url);
  expect((await ask('x')).status).toBe(200);
});

it('a state shows in the answer to the order, and one that does not exist is refused', async () => {
  expect(await become('draining')).toMatchObject({ engines: [{ state: 'draining' }, { state: 'serving' }] });
  await expect(become('tired')).rejects.toThrow(/400/);
});
