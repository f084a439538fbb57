import { expect, it, jest } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { type Collector, startCollector } from '@turnpike/test-support/startCollector';
import { noSpan } from './callSpan.ts';
import { type RunningTelemetry, startTelemetry } from './startTelemetry.ts';

const log = createLogger({ service: 'test', level: 'silent' });

interface Tools {
  collector: Collector;
  edge: RunningTelemetry;
  router: RunningTelemetry;
  /** Ends both services and returns what the collector got. */
  collected(): Promise<Collector['spans']>;
}

async function withCollector(
  { traceSampleRatio, status = 200 }: { traceSampleRatio: number; status?: number | undefined },
  use: (tools: Tools) => Promise<void>,
): Promise<void> {
  const collector = await startCollector({ status });
  const start = (service: string): RunningTelemetry =>
    startTelemetry({ service, scope: 'eu', otlpEndpoint: `${collector.url}/`, traceSampleRatio, log });
  const [edge, router] = [start('edge'), start('model-router')];
  const end = async (): Promise<void> => void (await Promise.all([edge.shutdown(), router.shutdown()]));
  try {
    await use({ collector, edge, router, collected: () => end().then(() => collector.spans) });
  } finally {
    await end();
    await collector.close();
  }
}

it('follows one call through two services and down to an engine', () =>
  withCollector({ traceSampleRatio: 1 }, async ({ edge, router, collected, collector }) => {
    const atEdge = edge.tracer.startTrace('POST /v1/chat/completions');
    const atRouter = router.tracer.continueTrace(atEdge.traceparent, 'POST /v1/chat/completions');
    const engine = atRouter.startChild('engine', 'client');
    engine.setAttributes({ 'turnpike.engine': 'engine-1' });
    engine.end({ isError: true });
    atRouter.end();
    atEdge.end();

    const spans = await collected();
    const find = (service: string, name: string) =>
      spans.find((span) => span.name === name && span.resource['service.name'] === service);
    const [first, second, third] = [
      find('edge', 'POST /v1/chat/completions'),
      find('model-router', 'POST /v1/chat/completions'),
      find('model-router', 'engine'),
    ];
    expect(spans).toHaveLength(3);
    expect(first).toMatchObject({ kind: 2, resource: { 'service.namespace': 'turnpike', 'cloud.region': 'eu' } });
    expect(first?.parentSpanId).toBeUndefined();
    expect(second).toMatchObject({ kind: 2, traceId: first?.traceId, parentSpanId: first?.spanId });
    expect(third).toMatchObject({ kind: 3, traceId: first?.traceId, parentSpanId: second?.spanId });
    expect(third).toMatchObject({ attributes: { 'turnpike.engine': 'engine-1' }, status: { code: 2 } });
    expect(collector.requests.map(({ path }) => path)).toEqual(['/v1/traces', '/v1/traces']);
  }));

it('exports nothing of a prompt or a key, even where the types were talked out of it', () =>
  withCollector({ traceSampleRatio: 1 }, async ({ edge, collected, collector }) => {
    const key = 'sk-4fjK2mZ0q8YtB6nXc1RvW9aL5sDhGeUoPi7T';
    const smuggled = { prompt: 'my secret plan', 'turnpike.request_id': key, 'turnpike.model': 'my secret plan' };
    const span = edge.tracer.startTrace('my secret plan: act!');
    span.setAttributes(smuggled);
    span.startChild(`Bearer ${key}!`, 'client').end();
    span.end();
    edge.tracer.recordBatch('record', {
      traceparents: [span.traceparent],
      startedAtMs: Date.now(),
      attributes: smuggled,
    });

    expect(await collected()).toHaveLength(3);
    const sent = collector.requests.map(({ text }) => text).join();
    expect(sent).not.toContain('secret plan');
    expect(sent).not.toContain(key);
  }));

it('makes one span for a batch, linked to the calls that are traced', () =>
  withCollector({ traceSampleRatio: 1 }, async ({ edge, router, collected }) => {
    const calls = [edge.tracer.startTrace('first'), edge.tracer.startTrace('second')];
    const startedAtMs = Date.now() - 20;
    const attributes = { 'turnpike.rows': 3 };
    const traceparents = [calls[0]?.traceparent, undefined, 'not one', calls[1]?.traceparent];
    router.tracer.recordBatch('record usage', { traceparents, startedAtMs, attributes });
    router.tracer.recordBatch('record usage', { traceparents: [undefined], startedAtMs, attributes });

    const batches = (await collected()).filter(({ name }) => name === 'record usage');
    expect(batches).toHaveLength(1);
    expect(batches[0]).toMatchObject({ kind: 5, attributes });
    expect(batches[0]?.links.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`)).toEqual(
      calls.map(({ traceparent }) => traceparent),
    );
  }));

it('traces the sampled share of calls, and gives the others nothing to pass on', () =>
  withCollector({ traceSampleRatio: 0.2 }, async ({ edge, collected }) => {
    let traced = 0;
    for (let i = 0; i < 1_000; i += 1) {
      const span = edge.tracer.startTrace('GET /v1/models');
      if (span.traceparent !== undefined) traced += 1;
      else expect(span).toBe(noSpan);
      span.end();
    }
    expect(traced).toBeGreaterThan(100);
    expect(traced).toBeLessThan(300);
    expect(await collected()).toHaveLength(traced);
  }));

it('traces no call that its caller did not', () =>
  withCollector({ traceSampleRatio: 1 }, async ({ router, collected }) => {
    expect(router.tracer.continueTrace(undefined, 'GET /v1/models')).toBe(noSpan);
    expect(await collected()).toEqual([]);
  }));

it('makes no span and exports nothing without a collector', async () => {
  const telemetry = startTelemetry({
    service: 'edge',
    scope: 'us',
    otlpEndpoint: undefined,
    traceSampleRatio: 1,
    log,
  });
  expect(telemetry.tracer.startTrace('GET /v1/models')).toBe(noSpan);
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  expect(telemetry.tracer.continueTrace(traceparent, 'GET /v1/models')).toBe(noSpan);
  await telemetry.shutdown();
});

it.each([
  ['answers 503', 503],
  ['never answers', undefined],
])('ends in time, and says what was lost, when the collector %s', async (_case, status) => {
  const warn = jest.spyOn(log, 'warn').mockClear();
  const collector = await startCollector({ status });
  const telemetry = startTelemetry({
    service: 'edge',
    scope: 'us',
    otlpEndpoint: collector.url,
    traceSampleRatio: 1,
    log,
  });
  telemetry.tracer.startTrace('GET /v1/models').end();
  const startedAt = performance.now();
  await telemetry.shutdown().finally(() => collector.close());

  expect(performance.now() - startedAt).toBeLessThan(20_000);
  expect(warn.mock.calls).toEqual([[expect.objectContaining({ lostSpans: 1 }), 'spans not exported']]);
});
