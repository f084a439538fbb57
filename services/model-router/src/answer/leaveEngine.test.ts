import type { ServerResponse } from 'node:http';
import { afterEach, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { anEngineRegistry } from '../../test/anEngineRegistry.ts';
import type { HttpEngine } from '../../test/anHttpEngine.ts';
import { anOpenCall } from '../../test/anOpenCall.ts';
import { aRecordingSpan } from '../../test/aRecordingSpan.ts';
import { engineChunks } from '../../test/engineChunks.ts';
import { serveCall } from '../../test/serveCall.ts';
import { begin, createStreamHouse } from '../../test/serveStreams.ts';
import type { CallNews } from '../engines/engineRegistry.ts';
import { RetryBudget } from '../health/engineHealth.ts';

const house = createStreamHouse();
const { engineThat, engineThatCompletes, connect } = house;
let served: Awaited<ReturnType<typeof serveCall>> | undefined;
afterEach(async () => {
  served?.close();
  await house.closeAll();
});

const WHOLE = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
});
const answersWhole = (res: ServerResponse) => res.writeHead(200, { 'content-type': 'application/json' }).end(WHOLE);

/** A call that waits on an engine of which nothing comes but what `answer` lets it hear; the others are tried after it. */
async function aWaitingCall({
  fields = { stream: true },
  answer = () => {},
  others = [],
  retries = new RetryBudget(() => 0),
}: {
  fields?: object;
  answer?: (res: ServerResponse) => void;
  others?: HttpEngine[];
  retries?: RetryBudget;
}) {
  let upstream: ServerResponse | undefined;
  const frozen = await engineThat((res) => {
    upstream = res;
    answer(res);
  }, 'frozen');
  const { unheardCalls } = frozen.engine;
  let isOut = false;
  const news: CallNews[] = [];
  const findEngines = () =>
    [frozen, ...others].map(({ engine }) => engine).filter(({ id }) => !(isOut && id === 'frozen'));
  const registry = anEngineRegistry(findEngines, { retries, report: (_engine, told) => news.push(told) });
  const call = anOpenCall();
  const span = aRecordingSpan();
  served = await serveCall({ engines: [], registry, call, span, fields });
  const client = connect(served.url);
  await until('the engine has the call', () => upstream !== undefined);
  return {
    frozen,
    call,
    span,
    news,
    client,
    unheardCalls,
    upstream: () => upstream,
    /** Does what the fleet does when it finds that the engine does not answer. */
    leaveOut() {
      isOut = true;
      for (const unheard of unheardCalls) unheard.leave();
    },
  };
}

it.each([
  ['stream', { stream: true }, () => engineThatCompletes('other')],
  ['whole answer', {}, () => engineThat(answersWhole, 'other')],
])(
  'a %s that has heard nothing leaves an engine that does not answer, at once and for one charge',
  async (_case, fields, another) => {
    const other = await another();
    const { frozen, call, span, news, client, unheardCalls, leaveOut } = await aWaitingCall({
      fields,
      others: [other],
    });
    leaveOut();
    const { status, text, ended } = await client;
    await until('the answer ends', ended);

    expect([status, text()]).toEqual([200, expect.stringContaining('"content":"whole"')]);
    expect([frozen.requestIds, other.requestIds]).toEqual([['call-1'], ['call-1-2']]);
    await until('its connection is gone', () => frozen.abortedRequests === 1);
    expect(call.target).toBe('other');
    expect(call.endings).toMatchObject([{ status: 'success', usage: { promptTokens: 9, completionTokens: 3 } }]);
    expect(span.children.map(({ attributes }) => attributes['turnpike.reason'])).toEqual(['left_out', undefined]);
    // The engine is known to be down, so the call's leaving is no second proof.
    expect(news.map(({ kind }) => kind)).not.toContain('failed');
    expect([unheardCalls.size, other.engine.unheardCalls.size]).toEqual([0, 0]);
  },
);

it('a stream that has had an event stays, and keeps its deadline between events', async () => {
  const other = await engineThatCompletes('other');
  const answer = (res: ServerResponse) => void begin(res, engineChunks.text('Hi'));
  const { call, client, unheardCalls, upstream, leaveOut } = await aWaitingCall({ answer, others: [other] });
  const { text, ended } = await client;
  await until('the first event is there', () => text().includes('Hi'));
  expect(unheardCalls.size).toBe(0);
  leaveOut();
  upstream()?.end(engineChunks.ending(3));
  await until('the stream ends', ended);
  expect(text().endsWith('data: [DONE]\n\n')).toBe(true);
  expect(other.requestIds).toEqual([]);
  expect(call.endings).toMatchObject([{ status: 'success' }]);
});

const spent = () => {
  const retries = new RetryBudget(() => 0);
  while (retries.take());
  return retries;
};
it.each([
  ['there is no other engine', async () => ({})],
  ['no retry is left', async () => ({ retries: spent(), others: [await engineThatCompletes('other')] })],
])('a call waits on where %s, and is answered when the engine comes back', async (_case, situation) => {
  const { others = [], ...rest } = (await situation()) as Parameters<typeof aWaitingCall>[0];
  const { frozen, call, client, unheardCalls, upstream, leaveOut } = await aWaitingCall({ others, ...rest });
  leaveOut();
  expect(unheardCalls.size).toBe(1);
  const res = upstream();
  if (res) begin(res, engineChunks.text('back')).end(engineChunks.ending(3));
  const { text, ended } = await client;
  await until('the stream ends', ended);
  expect(text()).toContain('"content":"back"');
  expect([frozen.requestIds.length, ...others.map(({ requestIds }) => requestIds.length)]).toEqual([
    1,
    ...others.map(() => 0),
  ]);
  expect(call.endings).toMatchObject([{ status: 'success' }]);
});

it('a call that could not leave does so when it is told again and may', async () => {
  let nowMs = 0;
  const retries = new RetryBudget(() => nowMs);
  while (retries.take());
  const other = await engineThatCompletes('other');
  const { client, call, leaveOut } = await aWaitingCall({ retries, others: [other] });
  leaveOut();
  expect(other.requestIds).toEqual([]);
  nowMs = 30_000;
  leaveOut();
  const { ended } = await client;
  await until('the stream ends', ended);
  expect(other.requestIds).toEqual(['call-1-2']);
  expect(call.endings).toMatchObject([{ status: 'success' }]);
});

it('a call leaves no more than one engine', async () => {
  let second: ServerResponse | undefined;
  const other = await engineThat((res) => {
    second = res;
  }, 'other');
  const third = await engineThatCompletes('third');
  const { client, leaveOut } = await aWaitingCall({ others: [other, third] });
  leaveOut();
  await until('the second engine has it', () => second !== undefined);
  for (const unheard of other.engine.unheardCalls) unheard.leave();
  if (second) begin(second, engineChunks.text('late')).end(engineChunks.ending(3));
  const { text, ended } = await client;
  await until('the stream ends', ended);
  expect(text()).toContain('"content":"late"');
  expect(third.requestIds).toEqual([]);
});
