import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { type RunningTelemetry, startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { type Collector, startCollector } from '@turnpike/test-support/startCollector';
import { startEdge, type TestEdge, type TestEdgeOptions } from './startEdge.ts';

const FOREIGN = '4bf92f3577b34da6a3ce929d0e0e4736';
const foreignHeaders = {
  traceparent: `00-${FOREIGN}-00f067aa0ba902b7-01`,
  tracestate: 'vendor=1',
  baggage: 'user=1',
};

let collector: Collector;
beforeEach(async () => {
  collector = await startCollector();
});
afterEach(() => collector.close());

async function withEdge(
  { traceSampleRatio, ...options }: TestEdgeOptions & { traceSampleRatio: number },
  use: (edge: TestEdge, telemetry: RunningTelemetry) => Promise<void>,
): Promise<void> {
  const log = createLogger({ service: 'edge', level: 'silent' });
  const telemetry = startTelemetry({
    service: 'edge',
    scope: 'us',
    otlpEndpoint: collector.url,
    traceSampleRatio,
    log,
  });
  const edge = await startEdge({ ...options, telemetry });
  await use(edge, telemetry).finally(() => edge.stop().then(() => telemetry.shutdown()));
}

it('begins the trace of a call itself, whatever trace the client names', async () => {
  const upstreams: TestEdgeOptions['upstreams'] = {
    'model-router': (_req, res) => res.writeHead(200, { 'x-router-call-id': 'call-1' }).end('{}'),
  };
  let requestId: string | null = null;
  let received: TestEdge['received'] = [];
  await withEdge({ traceSampleRatio: 1, upstreams }, async (edge) => {
    const response = await fetch(`${edge.url}/v1/chat/completions`, { method: 'POST', headers: foreignHeaders });
    requestId = response.headers.get('x-request-id');
    received = edge.received;
  });

  expect(collector.spans).toHaveLength(1);
  const [span] = collector.spans;
  expect(span).toMatchObject({ name: 'POST /v1/chat/completions', kind: 2 });
  expect(span?.traceId).not.toBe(FOREIGN);
  expect(span?.attributes).toEqual({
    'http.route': 'POST /v1/chat/completions',
    'http.response.status_code': 200,
    'turnpike.request_id': requestId,
    'turnpike.call_id': 'call-1',
  });
  const headers = received[0]?.req.headers;
  expect(headers?.traceparent).toBe(`00-${span?.traceId}-${span?.spanId}-01`);
  expect(headers).not.toHaveProperty('tracestate');
  expect(headers).not.toHaveProperty('baggage');
});

it('passes no trace on for a call that is not sampled, not even the client’s', async () => {
  await withEdge({ traceSampleRatio: 0 }, async (edge) => {
    await fetch(`${edge.url}/v1/models`, { headers: foreignHeaders });
    expect(edge.received[0]?.req.headers).not.toHaveProperty('traceparent');
  });
  expect(collector.requests).toEqual([]);
});

it('counts requests by the route they took, and what the edge itself refuses by its own name', async () => {
  const floodLimit = { requestsPerMinute: 1, burst: 5 };
  await withEdge({ traceSampleRatio: 0, floodLimit, upstreams: { auth: 'down' } }, async (edge, telemetry) => {
    const paths = [
      '/v1/models/a',
      '/v1/models/b',
      '/v1/svc/usage/request/1',
      '/v1/files',
      '/v1/svc/key',
      '/v1/models',
      '/v1/models',
    ];
    for (const path of paths) await fetch(edge.url + path).then((response) => response.text());

    const samples = await readMetrics(telemetry);
    const counts = [...samples].filter(([name]) => /^turnpike_(requests|faults)_total/.test(name));
    expect(Object.fromEntries(counts)).toEqual({
      'turnpike_requests_total{route="GET /v1/models/:id",status="200",outcome="whole"}': 2,
      'turnpike_requests_total{route="GET /v1/svc/usage/request/:request_id",status="200",outcome="whole"}': 1,
      'turnpike_requests_total{route="GET /v1/svc/key",status="502",outcome="whole"}': 1,
      'turnpike_requests_total{route="unlisted",status="404",outcome="whole"}': 1,
      'turnpike_requests_total{route="unlisted",status="429",outcome="whole"}': 2,
      'turnpike_faults_total{route="GET /v1/svc/key",fault="upstream_unreachable"}': 1,
      'turnpike_faults_total{route="unlisted",fault="unsupported_endpoint"}': 1,
      'turnpike_faults_total{route="unlisted",fault="flood_limit_exceeded"}': 2,
    });
  });
});

it('counts and logs an answer that its service breaks off after the head, and ends its span as an error', async () => {
  const log = createLogger({ service: 'edge', level: 'silent' });
  const warn = jest.spyOn(log, 'warn');
  const upstreams: TestEdgeOptions['upstreams'] = {
    'model-router': (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      setImmediate(() => res.socket?.destroy());
    },
  };
  let requestId: string | null = null;
  await withEdge({ traceSampleRatio: 1, upstreams, log }, async (edge, telemetry) => {
    const response = await fetch(`${edge.url}/v1/chat/completions`, { method: 'POST' });
    requestId = response.headers.get('x-request-id');
    await expect(response.text()).rejects.toThrow();

    const samples = await readMetrics(telemetry);
    expect([...samples].filter(([name]) => name.startsWith('turnpike_requests_total'))).toEqual([
      ['turnpike_requests_total{route="POST /v1/chat/completions",status="200",outcome="cut"}', 1],
    ]);
  });
  expect(collector.spans).toMatchObject([{ name: 'POST /v1/chat/completions', status: { code: 2 } }]);
  expect(warn.mock.calls).toEqual([
    [{ err: expect.any(Error), upstream: 'model-router', requestId }, 'upstream broke an answer off'],
  ]);
});
