import type { ServerResponse } from 'node:http';
import { afterEach, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { anEngineQueue } from '../../test/anEngineQueue.ts';
import { anEngineRegistry } from '../../test/anEngineRegistry.ts';
import { anOpenCall } from '../../test/anOpenCall.ts';
import { engineChunks } from '../../test/engineChunks.ts';
import { begin, createStreamHouse } from '../../test/serveStreams.ts';
import { RetryBudget } from '../health/engineHealth.ts';

const { engineThat, streamed, connect, ask, closeAll } = createStreamHouse();
afterEach(closeAll);

const ONE_CALL = { calls: 1, tokens: 1_000_000 };

/** An engine with room for one call, which it has; the function ends that call. Whoever asks `url` waits. */
async function aBusyEngine({ timeoutMs = 20_000, headersAfterMs = 30_000 } = {}) {
  const answers: (() => void)[] = [];
  const answer = (res: ServerResponse): void => {
    begin(res, engineChunks.text('first'));
    answers.push(() => res.end(engineChunks.ending(3)));
  };
  const engine = await engineThat(answer, 'engine-1', { room: ONE_CALL });
  const queue = anEngineQueue({
    limits: {
      maxCalls: 10,
      maxBytes: 1_000_000,
      keyShare: 1,
      engineKeyShare: 0.75,
      timeoutMs,
      expectedWaitMs: 5_000,
    },
  });
  const first = await connect((await streamed([engine], { queue })).url);
  await until('the engine has its first call', () => first.text().includes('first'));
  const call = anOpenCall();
  const { url } = await streamed([engine], {
    queue,
    nextCall: () => call,
    timeouts: { headersAfterMs, keepAliveMs: 20 },
  });
  const length = (): number => [...queue.lengths()].reduce((sum, { calls }) => sum + calls, 0);
  return { url, call, length, asked: () => answers.length, endFirst: () => answers[0]?.() };
}

it('sends a call on that waited as soon as the engine has room', async () => {
  const { url, call, length, asked, endFirst } = await aBusyEngine();
  const answer = connect(url);
  await until('the call waits', () => length() === 1);
  expect(asked()).toBe(1);
  endFirst();
  const client = await answer;
  await until('its answer begins', () => client.text().includes('first'));
  expect([client.status, asked(), call.endings]).toEqual([200, 2, []]);
});

it('waits on where its engine refuses it as it is full, asks it a few times in a second at most, and is answered', async () => {
  let isFull = true;
  const askedAt: number[] = [];
  const engine = await engineThat((res) => {
    askedAt.push(performance.now());
    if (isFull) res.writeHead(503).end('{"error":{"message":"queue is full"}}');
    else begin(res, engineChunks.text('at last')).end(engineChunks.ending(3));
  });
  const retries = new RetryBudget(() => 0);
  while (retries.take());
  const { url, call } = await streamed([engine], { registry: anEngineRegistry(() => [engine.engine], { retries }) });
  const answer = connect(url);
  await until('it was refused three times', () => askedAt.length > 2);
  const [, second = 0, third = 0] = askedAt;
  expect(third - second).toBeGreaterThan(400);
  isFull = false;
  const client = await answer;
  await until('the answer ends', client.ended);
  expect([client.status, client.text().includes('at last')]).toEqual([200, true]);
  expect(new Set(engine.requestIds).size).toBe(engine.requestIds.length);
  expect(call.endings).toMatchObject([{ status: 'success' }]);
});

it('forgets a call whose client leaves while it waits on for an engine that refused it', async () => {
  const engine = await engineThat((res) => res.writeHead(429).end());
  const { url, call } = await streamed([engine], { timeouts: { headersAfterMs: 20 } });
  const { request } = await ask(url);
  await until('it was refused', () => engine.requestIds.length > 0);
  request.destroy();
  await until('the call is ended', () => call.endings.length > 0);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'client_left_in_queue' }]);
});

it('answers 503 with Retry-After when the turn does not come in time, and no engine had the call', async () => {
  const { url, call, asked } = await aBusyEngine({ timeoutMs: 50 });
  const client = await connect(url);
  await until('the answer ends', client.ended);
  expect(client.status).toBe(503);
  expect(client.headers['retry-after']).toMatch(/^[1-9]\d?$/);
  expect(JSON.parse(client.text()).error).toMatchObject({ code: 'service_unavailable' });
  expect(call.endings).toEqual([{ status: 'failure', reason: 'overloaded' }]);
  expect(asked()).toBe(1);
});

it('keeps a waiting stream alive once its headers are due, and then says in an event that it was turned away', async () => {
  const { url, call } = await aBusyEngine({ timeoutMs: 3_000, headersAfterMs: 20 });
  const client = await connect(url);
  await until('the stream ends', client.ended);
  expect(client.status).toBe(200);
  expect(client.text()).toMatch(/^(: keep-alive\n)+data: \{"error":\{.*"service_unavailable".*\}\n\n$/);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'overloaded' }]);
});

it('forgets a call at once whose client leaves while it waits: a failure, and nothing an engine heard of', async () => {
  const { url, call, length, asked, endFirst } = await aBusyEngine({ headersAfterMs: 20 });
  const { request } = await ask(url);
  expect(length()).toBe(1);
  request.destroy();
  await until('the call is ended', () => call.endings.length > 0);
  expect(length()).toBe(0);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'client_left_in_queue' }]);
  endFirst();
  expect(asked()).toBe(1);
});

it('cuts a stream that nobody reads when a call of another key has waited for its room, and charges what was counted', async () => {
  let answered = 0;
  const answer = (res: ServerResponse): void => {
    answered += 1;
    if (answered > 1) {
      begin(res, engineChunks.text('whole')).end(engineChunks.ending(3));
      return;
    }
    const flood = (): void => {
      while (res.write(engineChunks.text('x'.repeat(65_536), 7)));
    };
    begin(res).on('drain', flood);
    flood();
  };
  const engine = await engineThat(answer, 'engine-1', { room: ONE_CALL });
  const queue = anEngineQueue();
  const unread = await streamed([engine], { queue });
  await ask(unread.url); // and never reads
  const other = await streamed([engine], { queue, keyId: 'key_2' });
  const client = await connect(other.url);
  await until('the answer of the other is whole', client.ended);
  expect([client.status, client.text().includes('whole')]).toEqual([200, true]);
  expect(unread.response()?.destroyed).toBe(true);
  expect(engine.abortedRequests).toBe(1);
  expect(unread.call.endings).toMatchObject([
    { status: 'success', reason: 'client_left', usage: { promptTokens: 9, completionTokens: 7 } },
  ]);
});
