import type { ServerResponse } from 'node:http';
import { afterEach, expect, it } from '@jest/globals';
import { until } from '@turnpike/test-support/until';
import { anEngineQueue } from '../../test/anEngineQueue.ts';
import { aRecordingSpan } from '../../test/aRecordingSpan.ts';
import { engineChunks } from '../../test/engineChunks.ts';
import { begin, createStreamHouse } from '../../test/serveStreams.ts';

const { engineThat, engineThatCompletes, streamed, connect, closeAll } = createStreamHouse();
afterEach(closeAll);

it('says in the trace of a call how long it waited for an engine, and when the first event came', async () => {
  const answers: (() => void)[] = [];
  const answer = (res: ServerResponse): void => {
    begin(res, engineChunks.text('first'));
    answers.push(() => res.end(engineChunks.ending(3)));
  };
  const engine = await engineThat(answer, 'engine-1', { room: { calls: 1, tokens: 1_000_000 } });
  const queue = anEngineQueue();
  const first = await connect((await streamed([engine], { queue })).url);
  await until('the engine has its first call', () => first.text().includes('first'));

  const span = aRecordingSpan();
  const second = connect((await streamed([engine], { queue, span })).url);
  await until('the second call waits', () => [...queue.lengths()].some(({ calls }) => calls === 1));
  const waitsSince = performance.now();
  await until('it has waited', () => performance.now() - waitsSince > 20);
  expect(span.attributes['turnpike.attempts']).toBeUndefined();
  const waitedMs = performance.now() - waitsSince;
  answers[0]?.();
  const client = await second;
  await until('its answer begins', () => client.text().includes('first'));
  answers[1]?.();
  await until('its answer ends', client.ended);

  expect(span.attributes['turnpike.queue_wait_ms']).toBeGreaterThanOrEqual(Math.round(waitedMs));
  expect(span.attributes['turnpike.time_to_first_token_ms']).toBeGreaterThanOrEqual(Math.round(waitedMs));
  expect(span.children).toHaveLength(1);
  expect(span.children[0]?.attributes).toMatchObject({
    'turnpike.engine': engine.engine.id,
    'turnpike.placement': 'only',
    'turnpike.candidate_count': 1,
    'turnpike.completion_tokens': 3,
    'turnpike.first_event_ms': expect.any(Number),
  });
});

it('has a part of the trace for each attempt, which says how it failed', async () => {
  const failing = await engineThat((res) => void res.destroy(), 'engine-1');
  const whole = await engineThatCompletes('engine-2');
  const span = aRecordingSpan();
  const client = await connect((await streamed([failing, whole], { span })).url);
  await until('the answer ends', client.ended);

  expect(span.attributes['turnpike.attempts']).toBe(2);
  const [first, second] = span.children.map(({ attributes }) => attributes);
  expect(first).toMatchObject({ 'turnpike.engine': 'engine-1', 'turnpike.fault': 'engine_failed' });
  expect(first?.['turnpike.reason']).toMatch(/^(unanswered|reset)$/);
  expect(first?.['turnpike.first_event_ms']).toBeUndefined();
  expect(second).toMatchObject({ 'turnpike.engine': 'engine-2', 'turnpike.fault': undefined });
});

it('spares a call that is not traced the telling', async () => {
  const engine = await engineThatCompletes('engine-1');
  const span = { ...aRecordingSpan(), traceparent: undefined };
  const untold = { ...aRecordingSpan(), traceparent: undefined };
  span.startChild = () => untold;
  const client = await connect((await streamed([engine], { span })).url);
  await until('the answer ends', client.ended);

  expect(untold.attributes).toEqual({});
});
