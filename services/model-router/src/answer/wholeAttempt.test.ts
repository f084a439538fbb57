import { get, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, expect, it } from '@jest/globals';
import { type BodyMemory, createBodyMemory } from '@turnpike/request-reading/shares/bodyMemory';
import { until } from '@turnpike/test-support/until';
import { anEngineRegistry } from '../../test/anEngineRegistry.ts';
import { anHttpEngine, type HttpEngine } from '../../test/anHttpEngine.ts';
import { anOpenCall } from '../../test/anOpenCall.ts';
import { type ServedCall, serveCall } from '../../test/serveCall.ts';
import type { CallNews } from '../engines/engineRegistry.ts';

const USAGE = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
const COMPLETED = {
  status: 'success',
  reason: 'completed',
  usage: { promptTokens: 9, completionTokens: 3, cachedPromptTokens: 0, reasoningTokens: 0 },
};
const MORE_THAN_A_SOCKET_TAKES = 30_000_000;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

async function engineThat(answer: (res: ServerResponse) => void, id = 'engine-1'): Promise<HttpEngine> {
  const engine = await anHttpEngine(id, answer);
  closers.push(() => engine.close());
  return engine;
}

const anAnswer = ({ content = 'whole', usage }: { content?: string; usage?: object } = { usage: USAGE }): string =>
  JSON.stringify({
    id: 'chatcmpl-1',
    created: 1_790_000_000,
    model: 'engine-name',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage,
  });

const engineThatAnswers = (text: string, id?: string): Promise<HttpEngine> =>
  engineThat((res) => res.writeHead(200, { 'content-type': 'application/json' }).end(text), id);

async function answered(
  engines: HttpEngine[],
  options: Omit<Parameters<typeof serveCall>[0], 'engines'> = {},
): Promise<ServedCall> {
  const served = await serveCall({
    engines: engines.map(({ engine }) => engine),
    fields: {},
    ...options,
  });
  closers.push(() => served.close());
  return served;
}

/** A client that has its answer's headers and has read nothing yet. */
function ask(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false }, (answer) => {
      answer.on('error', () => {});
      resolve(answer);
    });
    request.on('error', reject);
    closers.push(() => request.destroy());
  });
}

it('answers with the whole body once the call is ended, and not before', async () => {
  const call = anOpenCall();
  const booked = Promise.withResolvers<boolean>();
  const { url, response } = await answered([await engineThatAnswers(anAnswer())], {
    call: {
      ...call,
      end: (ending) => {
        void call.end(ending);
        return booked.promise;
      },
    },
  });
  const answer = fetch(url);
  await until('the call is being ended', () => call.endings.length > 0);
  expect(response()?.headersSent).toBe(false);
  booked.resolve(true);
  expect(await (await answer).json()).toMatchObject({ model: 'small-chat', usage: USAGE });
  expect(call.endings).toEqual([COMPLETED]);
});

it('takes a mistake of its own while it reads an answer for no failure of the engine, and asks no other', async () => {
  const memory = createBodyMemory(1_073_741_824);
  const mistaken: BodyMemory = {
    ...memory,
    open: (keyId) => ({
      ...memory.open(keyId),
      take() {
        throw new TypeError('a mistake of ours');
      },
    }),
  };
  const engines = [await engineThatAnswers(anAnswer()), await engineThatAnswers(anAnswer(), 'engine-2')];
  const news: CallNews[] = [];
  const registry = anEngineRegistry(() => engines.map(({ engine }) => engine), {
    report: (_engine, told) => news.push(told),
  });
  const { url, call } = await answered(engines, { memory: mistaken, registry });
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([599, expect.stringContaining('a mistake of ours')]);
  expect(engines.map(({ requestIds }) => requestIds.length)).toEqual([1, 0]);
  expect(news).toEqual([]);
  expect(call.endings).toMatchObject([{ status: 'failure' }]);
});

it('cuts a client that does not read its answer, which is charged all the same', async () => {
  const engine = await engineThatAnswers(anAnswer({ content: 'x'.repeat(MORE_THAN_A_SOCKET_TAKES), usage: USAGE }));
  const { url, call, response } = await answered([engine], { timeouts: { slowReaderMs: 100 } });
  await ask(url); // and never reads
  await until('the response is destroyed', () => response()?.destroyed === true);
  expect(response()?.writableFinished).toBe(false);
  expect(call.endings).toEqual([COMPLETED]);
});

it('lets a client read for longer than the slow reader’s time as long as it goes on reading', async () => {
  const slowReaderMs = 4_000; // long beside what a busy machine makes of a pause
  const size = 50_000_000; // many times what the two sockets hold, or they alone would make it stand still
  const engine = await engineThatAnswers(anAnswer({ content: 'x'.repeat(size), usage: USAGE }));
  const { url, response } = await answered([engine], { timeouts: { slowReaderMs } });
  const answer = await ask(url);
  const startedAt = performance.now();
  let received = 0;
  answer.on('data', (part: Buffer) => {
    received += part.length;
    // At most so many bytes a millisecond that the answer takes one and a half times the limit.
    const dueMs = (received / size) * 1.5 * slowReaderMs - (performance.now() - startedAt);
    if (dueMs < 20) return;
    answer.pause();
    setTimeout(() => answer.resume(), dueMs);
  });
  await until('the answer is read', () => answer.readableEnded || answer.destroyed);
  expect(received).toBeGreaterThan(size);
  expect(performance.now() - startedAt).toBeGreaterThan(1.25 * slowReaderMs);
  expect(response()?.writableFinished).toBe(true);
});

it('lets the engine finish for a client that left, and charges what it counted', async () => {
  let upstream: ServerResponse | undefined;
  const engine = await engineThat((res) => {
    upstream = res;
  });
  const { url, call, response } = await answered([engine]);
  const leaving = new AbortController();
  const answer = fetch(url, { signal: leaving.signal }).catch(() => 'gone');
  await until('the engine has the call', () => upstream !== undefined);
  leaving.abort();
  expect(await answer).toBe('gone');
  await until('the router has noticed', () => response()?.destroyed === true);
  upstream?.end(anAnswer());
  await until('the call is ended', () => call.endings.length > 0);
  expect(call.endings).toEqual([COMPLETED]);
  expect(engine.abortedRequests).toBe(0);
});

it('stops an engine that takes too long, and tries no other', async () => {
  const first = await engineThat(() => {});
  const second = await engineThatAnswers(anAnswer(), 'engine-2');
  const { url, call } = await answered([first, second], { timeouts: { wholeMs: 50 } });
  expect((await fetch(url)).status).toBe(500);
  // On a machine that stands still for so long the call may not have come as far as the engine.
  await until('the engine is stopped', () => first.abortedRequests === first.requestIds.length);
  expect(second.requestIds).toEqual([]);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_failed' }]);
});

it('tries no other engine when its time is up, though a timer may fire a little before its time', async () => {
  const silent = await engineThat(() => {});
  const second = await engineThatAnswers(anAnswer(), 'engine-2');
  for (let n = 0; n < 100; n += 1) {
    const { url } = await answered([silent, second], { timeouts: { wholeMs: 2.5 } });
    await fetch(url).then((answer) => answer.text());
  }
  expect(second.requestIds).toEqual([]);
});

it('takes no more of an answer than any can have, and holds that against its engine as a failure, not as silence', async () => {
  const news: CallNews[] = [];
  const endless = await engineThat((res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    const write = (): void => {
      while (!res.destroyed && res.write(Buffer.alloc(1_048_576, ' ')));
    };
    res.on('drain', write);
    write();
  });
  const registry = anEngineRegistry(() => [endless.engine], { report: (_engine, told) => news.push(told) });
  const { url, call } = await answered([], { registry });
  expect((await fetch(url)).status).toBe(500);
  expect(news).toEqual([expect.objectContaining({ kind: 'failed' })]);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_failed' }]);
});

/** Whether a call could have so many bytes of it that leave half to others. */
const hasBytes = (memory: BodyMemory, bytes: number): boolean => {
  const room = memory.open('somebody');
  const hasTaken = room.take(bytes);
  room.close();
  return hasTaken;
};

it('refuses an answer for which memory has no room, without a charge or a word against its engine, and gives back what it took', async () => {
  const news: CallNews[] = [];
  const memory = createBodyMemory(300_000);
  const engine = await engineThat((res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.write(anAnswer({ content: 'x'.repeat(200_000) })); // and never ends
  });
  const registry = anEngineRegistry(() => [engine.engine], { report: (_engine, told) => news.push(told) });
  const { url, call } = await answered([], { registry, memory });
  const answer = await fetch(url);
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await answer.json()).toMatchObject({ error: { code: 'service_unavailable' } });
  expect(call.endings).toEqual([{ status: 'failure', reason: 'no_room_for_answer' }]);
  await until('the engine is stopped', () => engine.abortedRequests === 1);
  expect(news).toEqual([]);
  expect(hasBytes(memory, 150_000)).toBe(true);
});

it('counts an answer in memory until its client has read it, and not what an engine before had begun', async () => {
  const memory = createBodyMemory(3 * MORE_THAN_A_SOCKET_TAKES);
  const first = await engineThat((res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.write('x'.repeat(MORE_THAN_A_SOCKET_TAKES), () => res.socket?.resetAndDestroy());
  });
  const content = 'x'.repeat(MORE_THAN_A_SOCKET_TAKES);
  const second = await engineThatAnswers(anAnswer({ content, usage: USAGE }), 'engine-2');
  const { url, response } = await answered([first, second], { memory });
  const answer = await ask(url);
  expect(response()?.headersSent).toBe(true);
  expect(hasBytes(memory, 0.8 * MORE_THAN_A_SOCKET_TAKES)).toBe(true);
  expect(hasBytes(memory, 1.1 * MORE_THAN_A_SOCKET_TAKES)).toBe(false);
  answer.resume();
  await until('the answer is read', () => response()?.closed === true);
  await until('its bytes are given back', () => hasBytes(memory, 1.4 * MORE_THAN_A_SOCKET_TAKES));
});

it('tries another engine when the first one breaks off on its way', async () => {
  const first = await engineThat((res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.write('{"id":', () => res.socket?.resetAndDestroy());
  });
  const second = await engineThatAnswers(anAnswer(), 'engine-2');
  const { url, call } = await answered([first, second]);
  expect((await fetch(url)).status).toBe(200);
  expect([first.requestIds, second.requestIds]).toEqual([['call-1'], ['call-1-2']]);
  expect(call.endings).toEqual([COMPLETED]);
});

it('hands out nothing that the engine did not count', async () => {
  const second = await engineThatAnswers(anAnswer(), 'engine-2');
  const { url, call } = await answered([await engineThatAnswers(anAnswer({ content: 'uncounted' })), second]);
  const answer = await fetch(url);
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain('uncounted');
  expect(second.requestIds).toEqual([]);
  expect(call.endings[0]).toEqual({ status: 'unknown', reason: 'engine_gave_no_count' });
});

it('hands out nothing when the hold was swept meanwhile', async () => {
  const engine = await engineThatAnswers(anAnswer());
  const { url } = await answered([engine], { call: anOpenCall({ isKept: false }) });
  const answer = await fetch(url);
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain('whole');
});

it('refuses an answer without the forced tool call', async () => {
  const fields = { tool_choice: 'required', tools: [{ type: 'function', function: { name: 'look_up' } }] };
  const { url, call } = await answered([await engineThatAnswers(anAnswer())], { fields });
  const answer = await fetch(url);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { param: 'tool_choice' } });
  expect(call.endings).toEqual([{ status: 'failure', reason: 'forced_tool_not_called' }]);
});
