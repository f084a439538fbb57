import type { ServerResponse } from 'node:http';
import { afterEach, expect, it, jest } from '@jest/globals';
import { toUsdText } from '@turnpike/money/nanoUsd';
import { noMetrics } from '@turnpike/telemetry/noTelemetry';
import { until } from '@turnpike/test-support/until';
import { anEngineQueue } from '../../test/anEngineQueue.ts';
import { anOpenCall, type RecordedCall } from '../../test/anOpenCall.ts';
import { engineChunks } from '../../test/engineChunks.ts';
import { begin, createStreamHouse, FORCED_TOOL } from '../../test/serveStreams.ts';
import type { CutReason } from '../api/inferenceFault.ts';
import { FIRST_CLOSED_MS } from '../engines/terms/limits.ts';
import { OpenStreams } from './chunks/clientStream.ts';
import { EngineStream } from './chunks/engineStream.ts';

const house = createStreamHouse();
const { engineThat, engineThatSends, engineThatCompletes, streamed, connect, ask } = house;
afterEach(async () => {
  jest.restoreAllMocks();
  await house.closeAll();
});
/** Stops the clock. A break within a second counts as untaken, and on a busy machine the second is soon over. */
const letTimeStandStill = () => jest.spyOn(performance, 'now').mockReturnValue(performance.now());

/** Expects a stream that failed midway: its last event is an error, and `[DONE]` is absent. */
function expectErrorEvent(text: string): void {
  expect(text.trimEnd().split('\n\n').at(-1)).toMatch(/^data: \{"error":\{/);
  expect(text).not.toContain('[DONE]');
}

it('hands each event on before the engine sends the next one', async () => {
  const words = ['One', 'two', 'three', 'four'];
  let upstream: ServerResponse | undefined;
  const engine = await engineThat((res) => {
    upstream = begin(res, engineChunks.text('One', 1));
  });
  const { url, call } = await streamed([engine]);
  const client = await connect(url);
  for (const [index, word] of words.entries()) {
    await until(`the client has ${word}`, () => client.text().includes(`"content":"${word}"`));
    const next = words[index + 1];
    upstream?.write(next === undefined ? engineChunks.ending(4) : engineChunks.text(next, index + 2));
  }
  await until('the stream ends', client.ended);
  expect(client.text().endsWith('data: [DONE]\n\n')).toBe(true);
  expect(call.endings).toEqual([
    {
      status: 'success',
      reason: 'completed',
      usage: { promptTokens: 9, completionTokens: 4, cachedPromptTokens: 0, reasoningTokens: 0 },
    },
  ]);
});

it('sends the headers after a while without an event; a refusal is then an event', async () => {
  let upstream: ServerResponse | undefined;
  const engine = await engineThat((res) => {
    upstream = res;
  });
  const { url, call } = await streamed([engine], { timeouts: { headersAfterMs: 20 } });
  const client = await connect(url);
  expect(client.status).toBe(200);
  expect(client.text()).toBe('');
  await until('the engine has the call', () => upstream !== undefined);
  upstream?.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"No such thing."}}');
  await until('the stream ends', client.ended);
  expectErrorEvent(client.text());
  expect(client.text()).toContain('No such thing.');
  expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_refused' }]);
});

it('gives an engine’s refusal its status when it comes before the headers had to go', async () => {
  const engine = await engineThat((res) => res.writeHead(400).end('{"error":{"message":"No such thing."}}'));
  const { url } = await streamed([engine]);
  expect((await connect(url)).status).toBe(400);
});

it('fills silence with comments, before the first event and between events', async () => {
  let upstream: ServerResponse | undefined;
  const engine = await engineThat((res) => {
    upstream = begin(res);
  });
  const { url } = await streamed([engine], { timeouts: { headersAfterMs: 10, keepAliveMs: 10 } });
  const client = await connect(url);
  await until('a comment comes before the first event', () => client.text().startsWith(': keep-alive\n'));
  await until('the engine has the call', () => upstream !== undefined);
  upstream?.write(engineChunks.text('Hi'));
  await until('a comment comes after an event', () => /"content":"Hi".*\n\n: keep-alive\n/.test(client.text()));
  upstream?.end(engineChunks.ending(1));
  await until('the stream ends', client.ended);
  expect(client.text().endsWith('data: [DONE]\n\n')).toBe(true);
  expect(client.text()).not.toMatch(/: keep-alive\n\n/);
});

/** An engine that sends as fast as it is read, and how many events it could hand over. */
async function aFloodingEngine() {
  let sent = 0;
  const engine = await engineThat((res) => {
    const flood = (): void => {
      do sent += 1;
      while (res.write(engineChunks.text('x'.repeat(65_536), sent)));
    };
    begin(res).on('drain', flood);
    flood();
  });
  return { engine, sentEvents: () => sent };
}

it('holds back an engine whose client reads nothing, and keeps 256 KiB at most', async () => {
  const { engine, sentEvents } = await aFloodingEngine();
  const { url, call, response } = await streamed([engine]);
  await ask(url); // and never reads
  let sent = 0;
  let stillPolls = 0;
  await until('the engine stands still', () => {
    stillPolls = sentEvents() === sent ? stillPolls + 1 : 0;
    sent = sentEvents();
    expect(response()?.writableLength).toBeLessThanOrEqual(262_144);
    return sent > 0 && stillPolls === 40;
  });
  // Only the sockets on both sides hold bytes, because the router buffers no more.
  expect(sent * 65_536).toBeLessThan(64 * 1_048_576);
  expect(call.endings).toEqual([]);
  expect(engine.abortedRequests).toBe(0);
});

it('cuts a client that reads nothing, stops the engine and charges the running count', async () => {
  const { engine, sentEvents } = await aFloodingEngine();
  const { url, call, response } = await streamed([engine], { timeouts: { slowReaderMs: 100 } });
  await ask(url); // and never reads
  await until('the engine is stopped', () => engine.abortedRequests === 1);
  expect(response()?.destroyed).toBe(true);
  expect(call.endings).toMatchObject([{ status: 'success', reason: 'client_left', usage: { promptTokens: 9 } }]);
  const [ending] = call.endings;
  const counted = ending?.status === 'success' ? ending.usage.completionTokens : 0;
  expect(counted).toBeGreaterThan(0);
  expect(counted).toBeLessThanOrEqual(sentEvents());
});

it('ends in an error event when its ending is kept nowhere', async () => {
  const { url } = await streamed([await engineThatCompletes('engine-1')], { call: anOpenCall({ isKept: false }) });
  const client = await connect(url);
  await until('the stream ends', client.ended);
  expectErrorEvent(client.text());
});

/** An engine that sends a token every `everyMs`, up to `tokens`. */
const engineThatTrickles = (everyMs: number, tokens = Number.POSITIVE_INFINITY) =>
  engineThat((res) => {
    begin(res);
    let sent = 0;
    const timer = setInterval(() => {
      if (sent < tokens) res.write(engineChunks.text('on', ++sent));
      else res.end(engineChunks.ending(sent));
    }, everyMs);
    res.on('close', () => clearInterval(timer));
  });

/** Expects that the router ended a stream that its engine did not fail: one error event, and the running count is charged. */
function expectCut(text: string, call: RecordedCall, { by, says }: { by: CutReason; says: RegExp }): void {
  expectErrorEvent(text);
  const [ending, ...others] = call.endings;
  expect(others).toEqual([]);
  expect(ending).toMatchObject({ status: 'success', reason: `cut_${by}`, usage: { promptTokens: 9 } });
  const counted = ending?.status === 'success' ? ending.usage.completionTokens : 0;
  expect(counted).toBeGreaterThan(0);
  expect(text).toMatch(says);
  // The charge of each usage of a test's call.
  expect(text).toContain(`the ${counted} output tokens so far are charged: ${toUsdText(2_010n)} USD.`);
  expect(text).toContain('"code":"stream_cut"');
}

it('ends a stream of less than 5 tokens a second after its base time, and charges the running count', async () => {
  const engine = await engineThatTrickles(1_000);
  const { url, call } = await streamed([engine], { timeouts: { streamMs: 3_000 } });
  const client = await connect(url);
  await until('the stream ends', client.ended);
  expectCut(client.text(), call, { by: 'too_long', says: /fewer than 5 tokens a second came or were read/ });
  await until('the engine is stopped', () => engine.abortedRequests === 1);
});

it('never ends a stream for being long that comes at a good pace', async () => {
  const { url, call } = await streamed([await engineThatTrickles(150, 25)], { timeouts: { streamMs: 3_000 } });
  const client = await connect(url);
  await until('the stream ends', client.ended);
  expect(client.text().endsWith('data: [DONE]\n\n')).toBe(true);
  expect(call.endings).toMatchObject([{ status: 'success', reason: 'completed', usage: { completionTokens: 25 } }]);
});

it('ends a stream that its client reads too slowly, and charges the running count', async () => {
  let sent = 0;
  const engine = await engineThat((res) => {
    const flood = (): void => {
      do sent += 1;
      while (res.write(engineChunks.text('x'.repeat(1_048_576), sent)));
    };
    begin(res).on('drain', flood);
    flood();
  });
  const { url, call } = await streamed([engine], { timeouts: { streamMs: 8_000 } });
  await ask(url); // and never reads
  await until('the engine is stopped', () => engine.abortedRequests === 1);
  await until('the call is ended', () => call.endings.length > 0);
  expect(call.endings).toMatchObject([{ status: 'success', reason: 'cut_too_long', usage: { promptTokens: 9 } }]);
});

it('ends its streams when the router has to stop, charges the running counts, and begins no other', async () => {
  const streams = new OpenStreams();
  const engine = await engineThatSends(engineChunks.text('Hi', 5));
  const { url, call } = await streamed([engine], { streams });
  const client = await connect(url);
  await until('the event has come', () => client.text().includes('Hi'));
  streams.cutAll();
  await until('the stream ends', client.ended);
  expectCut(client.text(), call, { by: 'shutdown', says: /because this server shuts down/ });
  await until('the engine is stopped', () => engine.abortedRequests === 1);
  expect((await connect(url)).status).toBe(500);
  expect(engine.requestIds).toHaveLength(1);
});

it('charges nothing for a stream that it ends before any count', async () => {
  const streams = new OpenStreams();
  const { url, call } = await streamed([await engineThatSends(engineChunks.uncounted('Hi'))], { streams });
  const client = await connect(url);
  await until('the event has come', () => client.text().includes('Hi'));
  streams.cutAll();
  await until('the stream ends', client.ended);
  expectErrorEvent(client.text());
  expect(client.text()).toContain('Nothing was charged.');
  expect(call.endings).toEqual([{ status: 'unknown', reason: 'cut_shutdown' }]);
});

it('ends a stream in which the router makes an error, charges the running count, and goes on', async () => {
  let upstream: ServerResponse | undefined;
  const engine = await engineThat((res) => {
    upstream = begin(res, engineChunks.text('Hi', 5));
  });
  const { url, call } = await streamed([engine]);
  const client = await connect(url);
  await until('the event has come', () => client.text().includes('Hi'));
  jest.spyOn(EngineStream.prototype, 'push').mockImplementationOnce(() => {
    throw new Error('at 10.0.0.7');
  });
  upstream?.write(engineChunks.text('there', 6));
  await until('the stream ends', client.ended);
  expectCut(client.text(), call, { by: 'unforeseen', says: /by an internal error/ });
  expect(client.text()).not.toContain('10.0.0.7');
  await until('the engine is stopped', () => engine.abortedRequests === 1);
});

it.each([
  ['without a name', engineChunks.rest({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }, 6)],
  [
    'of more tools than an answer may have',
    engineChunks.rest(
      { tool_calls: Array.from({ length: 1_025 }, (_, index) => ({ index, function: { name: 'look_up' } })) },
      6,
    ),
  ],
])(
  'ends a stream whose text has come and that ends in a call %s, and charges the running count',
  async (_case, event) => {
    const engine = await engineThatSends(engineChunks.text('Hi', 5), event, engineChunks.ending(7));
    const { url, call } = await streamed([engine]);
    const client = await connect(url);
    await until('the stream ends', client.ended);
    expectCut(client.text(), call, { by: 'tool_calls', says: /called a tool without a name, or more tools/ });
  },
);

it('counts the tokens of a stream that its engine fails, which nobody pays', async () => {
  const unpaid = jest.spyOn(noMetrics, 'tokensUnpaid');
  const engine = await engineThat((res) => void begin(res, engineChunks.text('Hi', 5)).end());
  const { url, call } = await streamed([engine]);
  const client = await connect(url);
  await until('the stream ends', client.ended);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_reset' }]);
  expect(unpaid.mock.calls.map(([, counted]) => counted)).toEqual([{ reason: 'engine_reset', tokens: 5 }]);
});

it('tries no other engine once the stream’s time is up', async () => {
  const first = await engineThat((res) => res.socket?.resetAndDestroy());
  const second = await engineThatCompletes('engine-2');
  const dispatched: unknown[] = [];
  const { pool } = second.engine;
  const dispatch = pool.dispatch.bind(pool);
  pool.dispatch = (options, handler) => {
    dispatched.push(options);
    return dispatch(options, handler);
  };
  let lookUps = 0;
  const { url, call } = await streamed([first, second], {
    timeouts: { streamMs: 2_000 },
    findEngines() {
      lookUps += 1;
      // Between the two attempts time passes in which no timer can fire.
      const until = performance.now() + (lookUps === 2 ? 2_050 : 0);
      while (performance.now() < until);
      return [first.engine, second.engine];
    },
  });
  expect((await connect(url)).status).toBe(500);
  expect(lookUps).toBe(2);
  expect(dispatched).toEqual([]);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_failed' }]);
});

it('gives a second engine only what is left of the stream’s time', async () => {
  const first = await engineThat((res) => setTimeout(() => res.socket?.resetAndDestroy(), 50));
  const second = await engineThat(() => {}, 'engine-2');
  const { url } = await streamed([first, second], { timeouts: { streamMs: 3_000 } });
  expect((await connect(url)).status).toBe(500);
  expect(second.requestIds).toEqual(['call-1-2']);
  await until('the second engine is stopped', () => second.abortedRequests === 1);
});

it('takes no engine for silent whose events came while the router itself was held up', async () => {
  let upstream: ServerResponse | undefined;
  const engine = await engineThat((res) => {
    upstream = begin(res, engineChunks.text('Hi'));
  });
  const { url, call } = await streamed([engine], { timeouts: { betweenEventsMs: 3_000 } });
  const client = await connect(url);
  await until('the event has come', () => client.text().includes('Hi'));
  // Both ends of the connection are in this process: the bytes leave before it stands still.
  upstream?.end(engineChunks.ending(3));
  const heldUpUntil = performance.now() + 3_200;
  while (performance.now() < heldUpUntil);
  await until('the stream ends', client.ended);
  expect(client.text().endsWith('data: [DONE]\n\n')).toBe(true);
  expect(call.endings).toMatchObject([{ status: 'success', reason: 'completed' }]);
});

it('ends in an error event when the engine falls silent between events', async () => {
  const engine = await engineThatSends(engineChunks.text('Hi'));
  const { url, call } = await streamed([engine], { timeouts: { betweenEventsMs: 50 } });
  const client = await connect(url);
  await until('the stream ends', client.ended);
  expectErrorEvent(client.text());
  expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_timeout' }]);
  await until('the engine is stopped', () => engine.abortedRequests === 1);
});

it.each([
  [
    'after an event without a count',
    [engineChunks.uncounted('Hi')],
    { status: 'unknown', reason: 'client_left_before_first_count' },
  ],
  [
    'after an event',
    [engineChunks.text('Hi', 5)],
    {
      status: 'success',
      reason: 'client_left',
      usage: { promptTokens: 9, completionTokens: 5, cachedPromptTokens: 0, reasoningTokens: 0 },
    },
  ],
])('stops the engine when the client leaves %s, and records what had been counted', async (_case, events, ending) => {
  const engine = await engineThatSends(...events);
  const { url, call } = await streamed([engine], { timeouts: { headersAfterMs: 20 } });
  const client = await connect(url);
  await until('the engine has the call', () => engine.requestIds.length === 1);
  await until('the events have come', () => events.length === 0 || client.text().includes('Hi'));
  client.request.destroy();
  await until('the engine is stopped', () => engine.abortedRequests === 1);
  await until('the call is ended', () => call.endings.length > 0);
  expect(call.endings).toEqual([ending]);
});

/** A stream that its client has left before the engine said anything. */
async function aStreamLeftEarly(options: Parameters<typeof streamed>[1] = {}) {
  const upstream = Promise.withResolvers<ServerResponse>();
  const engine = await engineThat((res) => upstream.resolve(begin(res)));
  const other = await engineThatCompletes('engine-2');
  const timeouts = { headersAfterMs: 20, ...options.timeouts };
  const { url, call, response } = await streamed([engine, other], { ...options, timeouts });
  const client = await connect(url);
  const speaker = await upstream.promise;
  client.request.destroy();
  await until('the client is gone', () => response()?.destroyed === true);
  return { engine, other, call, speaker };
}
const untilEnded = async (call: { endings: unknown[] }) => until('the call is ended', () => call.endings.length > 0);

it('listens on when the client leaves before any event, stops the engine at its first count and charges that', async () => {
  const { engine, call, speaker } = await aStreamLeftEarly();
  speaker.write(engineChunks.uncounted('Hi'));
  await until('it has been heard', () => speaker.writableLength === 0);
  expect(call.endings).toEqual([]);
  expect(engine.abortedRequests).toBe(0);
  speaker.write(engineChunks.text('there', 2));
  await untilEnded(call);
  await until('the engine is stopped', () => engine.abortedRequests === 1);
  expect(call.endings).toEqual([
    {
      status: 'success',
      reason: 'client_left',
      usage: { promptTokens: 9, completionTokens: 2, cachedPromptTokens: 0, reasoningTokens: 0 },
    },
  ]);
});

it('charges a whole answer that comes while it listens on by its count', async () => {
  const { call, speaker } = await aStreamLeftEarly();
  speaker.end(engineChunks.uncounted('Hi') + engineChunks.ending(3));
  await untilEnded(call);
  expect(call.endings).toMatchObject([{ status: 'success', reason: 'client_left', usage: { completionTokens: 3 } }]);
});

it.each([
  ['event', [], 'client_left_before_first_event'],
  ['count', [engineChunks.uncounted('Hi')], 'client_left_before_first_count'],
])('stops an engine that gives no %s for as long as it listens on', async (_what, events, reason) => {
  const { engine, call, speaker } = await aStreamLeftEarly({ timeouts: { listenOnMs: 300 } });
  for (const event of events) speaker.write(event);
  await untilEnded(call);
  await until('the engine is stopped', () => engine.abortedRequests === 1);
  expect(call.endings).toEqual([{ status: 'unknown', reason }]);
});

it('tries no other engine for a client that has left, where the one that it listens to fails', async () => {
  const { other, call, speaker } = await aStreamLeftEarly();
  speaker.socket?.resetAndDestroy();
  await untilEnded(call);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_failed' }]);
  expect(other.requestIds).toEqual([]);
});

it.each([
  ['resets the connection', (res: ServerResponse) => res.socket?.resetAndDestroy()],
  ['resets it after its headers', (res: ServerResponse) => begin(res, ': hello\n\n').socket?.resetAndDestroy()],
  ['says nothing in time', () => {}],
])('tries another engine when the first one %s before the first event', async (_case, breakOff) => {
  const first = await engineThat(breakOff);
  const second = await engineThatCompletes('engine-2');
  const { url, call } = await streamed([first, second], { timeouts: { firstEventMs: 3_000 } });
  const client = await connect(url);
  await until('the stream ends', client.ended);
  expect(client.text()).toContain('"content":"whole"');
  expect(client.text().endsWith('data: [DONE]\n\n')).toBe(true);
  expect([first.requestIds, second.requestIds]).toEqual([['call-1'], ['call-1-2']]);
  expect(call.target).toBe('engine-2');
  expect(call.endings).toMatchObject([{ status: 'success', reason: 'completed' }]);
});

it('tries no third engine', async () => {
  const fail = (res: ServerResponse) => res.writeHead(500).end();
  const engines = [await engineThat(fail, 'a'), await engineThat(fail, 'b'), await engineThatCompletes('c')];
  const { url, call } = await streamed(engines);
  expect((await connect(url)).status).toBe(500);
  expect(engines.map(({ requestIds }) => requestIds.length)).toEqual([1, 1, 0]);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_failed' }]);
});

it('sends a call once more, to the only engine there is, when its connection broke before any answer', async () => {
  letTimeStandStill();
  let isFirst = true;
  const engine = await engineThat((res) => {
    if (isFirst) res.socket?.resetAndDestroy();
    else begin(res, engineChunks.text('whole')).end(engineChunks.ending(3));
    isFirst = false;
  });
  const { url, call } = await streamed([engine]);
  const client = await connect(url);
  await until('the stream ends', client.ended);
  expect(engine.requestIds).toEqual(['call-1', 'call-1-2']);
  expect(call.endings).toMatchObject([{ status: 'success' }]);
});

it('gives up on a connection that always breaks before any answer', async () => {
  letTimeStandStill();
  const engine = await engineThat((res) => res.socket?.resetAndDestroy());
  const { url, call } = await streamed([engine]);
  expect((await connect(url)).status).toBe(500);
  expect(engine.requestIds).toHaveLength(2);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_failed' }]);
});

it('ends in an error event when the engine resets after the first event, and tries no other', async () => {
  let upstream: ServerResponse | undefined;
  const first = await engineThat((res) => {
    upstream = begin(res, engineChunks.text('Hi'));
  });
  const second = await engineThatCompletes('engine-2');
  const { url, call } = await streamed([first, second]);
  const client = await connect(url);
  await until('the first event comes', () => client.text().includes('Hi'));
  upstream?.socket?.resetAndDestroy();
  await until('the stream ends', client.ended);
  expectErrorEvent(client.text());
  expect(second.requestIds).toEqual([]);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_reset' }]);
});

it('holds events back until a forced tool is called', async () => {
  let upstream: ServerResponse | undefined;
  const engine = await engineThat((res) => {
    upstream = begin(res, engineChunks.text('Let me see.'));
  });
  const timeouts = { headersAfterMs: 50, keepAliveMs: 10 };
  const { url } = await streamed([engine], { fields: FORCED_TOOL, timeouts });
  const client = await connect(url);
  await until('the client waits', () => client.text().includes(': keep-alive'));
  await until('the engine has the call', () => upstream !== undefined);
  expect(client.text()).not.toContain('Let me see.');
  upstream?.write(engineChunks.toolCall('look_up'));
  await until('the call comes', () => client.text().includes('look_up'));
  expect(client.text().indexOf('Let me see.')).toBeLessThan(client.text().indexOf('look_up'));
});

it('refuses an answer that goes on past 1 MiB without the forced tool call, and shows nothing of it', async () => {
  const words = Array.from({ length: 20 }, () => engineChunks.text('x'.repeat(65_536)));
  const first = await engineThatSends(...words);
  const second = await engineThatCompletes('engine-2');
  const { url, call } = await streamed([first, second], { fields: FORCED_TOOL });
  const client = await connect(url);
  await until('the answer ends', client.ended);
  expect(client.status).toBe(400);
  expect(JSON.parse(client.text())).toMatchObject({ error: { param: 'tool_choice' } });
  expect(second.requestIds).toEqual([]);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'forced_tool_not_called' }]);
  await until('the engine is stopped', () => first.abortedRequests === 1);
});

it('refuses with an event, and charges nothing, when the headers had to go before the forced tool was not called', async () => {
  let upstream: ServerResponse | undefined;
  const engine = await engineThat((res) => {
    upstream = begin(res, engineChunks.text('Let me see.'));
  });
  const { url, call } = await streamed([engine], { fields: FORCED_TOOL, timeouts: { headersAfterMs: 20 } });
  const client = await connect(url);
  expect(client.status).toBe(200);
  await until('the engine has the call', () => upstream !== undefined);
  upstream?.end(engineChunks.ending(5));
  await until('the stream ends', client.ended);
  expectErrorEvent(client.text());
  expect(client.text()).toContain('"param":"tool_choice"');
  expect(client.text()).not.toContain('Let me see.');
  expect(call.endings).toEqual([{ status: 'failure', reason: 'forced_tool_not_called' }]);
});

/** A queue with a timeout shorter than the time for which an engine's room is closed. */
const aShortQueue = () =>
  anEngineQueue({
    limits: {
      maxCalls: 10,
      maxBytes: 1_000_000,
      keyShare: 1,
      engineKeyShare: 0.75,
      timeoutMs: 200,
      expectedWaitMs: 5_000,
    },
  });

/** Expects one try, and one more for each time the room could have opened: on a busy machine the wait ends late. */
function expectFewTries({ requestIds }: { requestIds: unknown[] }, sinceMs: number): void {
  expect(requestIds.length).toBeGreaterThanOrEqual(1);
  expect(requestIds.length).toBeLessThanOrEqual(1 + Math.floor((performance.now() - sinceMs) / FIRST_CLOSED_MS));
}

it('asks no client to repeat a call that an engine took and failed, though another engine was only busy', async () => {
  const first = await engineThat((res) => res.writeHead(500).end('{"error":{"message":"CUDA"}}'));
  const second = await engineThat((res) => res.writeHead(503).end('{"error":{"message":"busy"}}'), 'engine-2');
  const { url, call } = await streamed([first, second], { queue: aShortQueue() });
  const askedAt = performance.now();
  const client = await connect(url);
  expectFewTries(second, askedAt);
  expect([client.status, client.headers['x-should-retry']]).toEqual([500, 'false']);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'engine_failed' }]);
});

it('lets a client repeat a call that no engine took', async () => {
  const busy = (res: ServerResponse) => res.writeHead(429).end();
  const engines = [await engineThat(busy), await engineThat(busy, 'engine-2')];
  const { url, call } = await streamed(engines, { queue: aShortQueue() });
  const askedAt = performance.now();
  const client = await connect(url);
  for (const engine of engines) expectFewTries(engine, askedAt);
  expect([client.status, client.headers['x-should-retry'], client.headers['retry-after']]).toEqual([
    503,
    undefined,
    '1',
  ]);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'overloaded' }]);
});

it('ends in an error event, and ends the call, when something fails that nobody foresaw', async () => {
  const engine = await engineThat((res) => setTimeout(() => res.socket?.resetAndDestroy(), 50));
  let lookUps = 0;
  const { url, call } = await streamed([engine], {
    timeouts: { headersAfterMs: 20 },
    findEngines() {
      lookUps += 1;
      if (lookUps > 1) throw new Error('unforeseen');
      return [engine.engine];
    },
  });
  const client = await connect(url);
  await until('the stream ends', client.ended);
  expectErrorEvent(client.text());
  expect(client.text()).not.toContain('unforeseen');
  await until('the call is ended', () => call.endings.length > 0);
  expect(call.endings).toEqual([{ status: 'failure', reason: 'unforeseen' }]);
});

it('bills a client that does not ask for its usage like one that does', async () => {
  const endings = [];
  for (const stream_options of [undefined, { include_usage: true }]) {
    const { url, call } = await streamed([await engineThatCompletes('engine-1')], {
      fields: { stream: true, stream_options },
    });
    const client = await connect(url);
    await until('the stream ends', client.ended);
    expect(client.text().includes('"usage"')).toBe(stream_options !== undefined);
    endings.push(call.endings);
  }
  expect(endings[0]).toMatchObject([{ status: 'success', usage: { promptTokens: 9, completionTokens: 3 } }]);
  expect(endings[1]).toEqual(endings[0]);
});
