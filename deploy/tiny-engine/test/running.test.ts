import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { readMetrics } from './support/readMetrics.ts';
import { startTinyEngine, type TinyEngineProcess } from './support/startTinyEngine.ts';

let engine: TinyEngineProcess;
let clients: AbortController;
beforeEach(async () => {
  engine = await startTinyEngine();
  clients = new AbortController();
});
afterEach(async () => {
  clients.abort();
  await engine.stop();
});

/** As long as the window allows: seconds of work. */
const MAX_TOKENS = 8_000;

/** Starts a stream that does not end by itself soon; resolves with its headers. */
const startStream = () =>
  fetch(`${engine.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      messages: [{ role: 'user', content: 'Go on.' }],
      max_tokens: MAX_TOKENS,
      ignore_eos: true,
      stream: true,
    }),
    signal: clients.signal,
  });

const metric = async (name: string): Promise<number> => (await readMetrics(engine.url))[name] ?? Number.NaN;

describe('the engine', () => {
  it('stops generating when its client leaves', async () => {
    const { body } = await startStream();
    await body?.getReader().read();
    expect(await metric('num_requests_running')).toBe(1);
    clients.abort();
    await until(
      'the abandoned requests to be aborted',
      async () => (await metric('request_success_total_abort')) === 1,
    );
    expect(await readMetrics(engine.url)).toMatchObject({ num_requests_running: 0, request_success_total_length: 0 });
    expect(await metric('generation_tokens_total')).toBeLessThan(MAX_TOKENS);
  });

  it('runs 4 requests, lets 64 wait, refuses the next with 503, and forgets all whose clients leave', async () => {
    const responses = await Promise.all(Array.from({ length: 68 }, startStream));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await readMetrics(engine.url)).toMatchObject({ num_requests_running: 4, num_requests_waiting: 64 });

    const refused = await startStream();
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { type: 'Service Unavailable', code: 503 } });

    clients.abort();
    await until(
      'the abandoned requests to be aborted',
      async () => (await metric('request_success_total_abort')) === 68,
    );
    expect(await readMetrics(engine.url)).toMatchObject({ num_requests_running: 0, num_requests_waiting: 0 });
    clients = new AbortController();
    expect((await startStream()).status).toBe(200);
  });

  it('ends on SIGTERM in the middle of an answer', async () => {
    const { body } = await startStream();
    await body?.getReader().read();
    engine.child.kill('SIGTERM');
    expect(await engine.exit).toMatchObject({ code: 0, stderr: '' });
  });
});
