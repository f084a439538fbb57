import { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import { bare } from '@turnpike/public-api/wireError';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { type CollectedSpan, startCollector } from '@turnpike/test-support/startCollector';
import { until } from '@turnpike/test-support/until';
import { createHttpApp, type Route } from './createHttpApp.ts';
import { drain } from './drain.ts';
import { openGuard } from './guard.ts';
import { listen } from './listen.ts';
import { AccessLog, noteCall, spanOf } from './observeRequests.ts';
import { createMetricsRoute } from './serviceApps.ts';

const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const traceparent = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
const log = createLogger({ service: 'test', level: 'silent' });

/** Runs once a request has come that is never answered. */
let onSilent: () => void;

interface Observed {
  spans: CollectedSpan[];
  samples: Map<string, number>;
}

/** Sends requests to a small service and returns what was measured of them. */
async function observe(send: (url: string) => Promise<unknown>): Promise<Observed> {
  const collector = await startCollector();
  const telemetry = startTelemetry({
    service: 'test',
    scope: 'us',
    otlpEndpoint: collector.url,
    traceSampleRatio: 0,
    log,
  });
  const app = createHttpApp({
    log,
    telemetry,
    toWireError: (error) => (error instanceof ApiError ? bare(402, 'refused') : undefined),
    routes: [
      {
        method: 'get',
        path: '/things/:id',
        guard: openGuard,
        handler(req, res) {
          res.setHeader('x-router-call-id', 'call-1');
          if (req.params.id === 'dear') throw new ApiError({ kind: 'insufficient_balance' });
          if (req.params.id === 'broken') throw new Error('a reason');
          spanOf(res).startChild('look up', 'client').end();
          res.json({});
        },
      },
      { method: 'get', path: '/silent', guard: openGuard, handler: () => onSilent() },
      createMetricsRoute(telemetry),
    ],
  });
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  try {
    await send(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    await drain([server], { settleMs: 0 });
    return { samples: await readMetrics(telemetry), spans: await telemetry.shutdown().then(() => collector.spans) };
  } finally {
    await collector.close();
  }
}

const requestsOf = ({ samples }: Observed): Record<string, number> =>
  Object.fromEntries([...samples].filter(([name]) => name.startsWith('turnpike_requests_total')));

it('counts requests by route pattern and status, never by the path that was sent', async () => {
  const observed = await observe(async (url) => {
    for (const path of ['/things/1', '/things/2', '/things/dear', '/things/broken', '/nothing/here', '/metrics'])
      await fetch(url + path).then((response) => response.text());
    await fetch(`${url}/things/1`, { method: 'POST' });
  });
  expect(requestsOf(observed)).toEqual({
    'turnpike_requests_total{route="GET /things/:id",status="200",outcome="whole"}': 2,
    'turnpike_requests_total{route="GET /things/:id",status="402",outcome="whole"}': 1,
    'turnpike_requests_total{route="GET /things/:id",status="500",outcome="whole"}': 1,
    'turnpike_requests_total{route="unlisted",status="404",outcome="whole"}': 1,
    'turnpike_requests_total{route="unlisted",status="405",outcome="whole"}': 1,
    'turnpike_requests_total{route="GET /metrics",status="200",outcome="whole"}': 1,
  });
  const { samples } = observed;
  expect(samples.get('turnpike_request_duration_seconds_count{route="GET /things/:id"}')).toBe(4);
  expect(samples.get('turnpike_faults_total{route="GET /things/:id",fault="insufficient_balance"}')).toBe(1);
  expect(samples.get('turnpike_faults_total{route="GET /things/:id",fault="unforeseen"}')).toBe(1);
});

it('counts a client that left before there was an answer', async () => {
  const leaving = new AbortController();
  onSilent = () => leaving.abort();
  const observed = await observe((url) => fetch(`${url}/silent`, { signal: leaving.signal }).catch(() => {}));
  expect(requestsOf(observed)).toEqual({
    'turnpike_requests_total{route="GET /silent",status="none",outcome="left"}': 1,
  });
});

it('goes on with the trace of a call, and names the request and the call in it', async () => {
  const headers = { traceparent, 'x-request-id': 'request-1' };
  const { spans } = await observe((url) => fetch(`${url}/things/1`, { headers }));
  const [server] = spans.filter(({ kind }) => kind === 2);
  expect(server).toMatchObject({ name: 'GET /things/:id', traceId: CALLER.traceId, parentSpanId: CALLER.spanId });
  expect(server?.attributes).toEqual({
    'http.route': 'GET /things/:id',
    'http.response.status_code': 200,
    'turnpike.request_id': 'request-1',
    'turnpike.call_id': 'call-1',
  });
  expect(spans.find(({ name }) => name === 'look up')?.parentSpanId).toBe(server?.spanId);
});

it.each([
  ['broken', { status: { code: 2 }, attributes: { 'turnpike.fault': 'unforeseen' } }],
  ['dear', { status: { code: 0 }, attributes: { 'turnpike.fault': 'insufficient_balance' } }],
])('says why a traced request failed: %s', async (id, expected) => {
  const { spans } = await observe((url) => fetch(`${url}/things/${id}`, { headers: { traceparent } }));
  expect(spans).toHaveLength(1);
  expect(spans[0]).toMatchObject(expected);
  expect(JSON.stringify(spans)).not.toContain('a reason');
});

it('traces no request that came without a trace', async () => {
  const { spans } = await observe((url) => fetch(`${url}/things/1`));
  expect(spans).toEqual([]);
});

it('names the request and the call in the log line of a failure', async () => {
  const child = jest.spyOn(log, 'child').mockClear();
  await observe((url) => fetch(`${url}/things/broken`, { headers: { 'x-request-id': 'request-2' } }));
  expect(child.mock.calls).toEqual([[{ requestId: 'request-2', callId: 'call-1' }]]);
});

const ENDED = {
  canonicalModel: 'a-model',
  status: 'success',
  reason: 'client_left',
  isStream: true,
  promptTokens: 12,
  cachedPromptTokens: 4,
  completionTokens: 3,
  billingUnit: 'token',
  startedAtMs: 0,
  endedAtMs: 1,
  chargeNanoUsd: 5_000n,
} as const;

describe('the access log', () => {
  /** Sends requests to one route, and returns its lines once there are so many. */
  async function linesOf(
    handler: Route['handler'],
    send: (url: string) => Promise<unknown>,
    { sampleRatio = 1, count = 1 } = {},
  ): Promise<Record<string, unknown>[]> {
    const lines: string[] = [];
    const written = { write: (facts: object) => lines.push(JSON.stringify(facts)) > 0 };
    const server = await listen(
      createHttpApp({
        log,
        telemetry: noTelemetry,
        accessLog: new AccessLog(written, { sampleRatio }),
        toWireError: (error) => (error instanceof ApiError ? bare(402, 'refused') : undefined),
        routes: [{ method: 'post', path: '/calls', guard: () => ({ kind: 'key', keyId: 'key_1' }), handler }],
      }),
      { host: '127.0.0.1', port: 0 },
    );
    await send(`http://127.0.0.1:${(server.address() as AddressInfo).port}/calls`);
    await until('the lines', () => lines.length >= count);
    await drain([server], { settleMs: 0 });
    return lines.map((line) => JSON.parse(line));
  }
  const secret = 'a secret of the client';
  const post = (url: string, init: RequestInit = {}) =>
    fetch(`${url}?q=${secret}`, {
      method: 'POST',
      headers: { authorization: secret, 'x-request-id': 'request-3' },
      body: secret,
      ...init,
    });

  it('has one line of a call: its ids, model, engine, tokens and charge, and nothing that its client sent', async () => {
    const lines = await linesOf((_req, res) => {
      res.setHeader('x-router-call-id', 'call-3');
      noteCall(res, { model: 'a-model' });
      noteCall(res, { engine: 'engine-1', call: { ended: { ...ENDED, reason: 'completed' } } });
      res.json({ answer: secret });
    }, post);
    expect(lines).toEqual([
      {
        requestId: 'request-3',
        callId: 'call-3',
        keyId: 'key_1',
        route: 'POST /calls',
        status: 200,
        outcome: 'whole',
        ms: expect.any(Number),
        model: 'a-model',
        engine: 'engine-1',
        promptTokens: 12,
        cachedPromptTokens: 4,
        completionTokens: 3,
        chargeNanoUsd: '5000',
        ending: 'success',
        reason: 'completed',
      },
    ]);
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('has the charge of a call that its client left, once its handler knows it', async () => {
    const leaving = new AbortController();
    const left = Promise.withResolvers<void>();
    const handler: Route['handler'] = async (_req, res) => {
      res.on('close', left.resolve);
      leaving.abort();
      await left.promise;
      noteCall(res, { call: { ended: ENDED } });
    };
    const lines = await linesOf(handler, (url) => post(url, { signal: leaving.signal }).catch(() => {}));
    expect(lines).toMatchObject([{ outcome: 'left', chargeNanoUsd: '5000', reason: 'client_left' }]);
    expect(lines[0]).not.toHaveProperty('status');
  });

  it('has every request that was refused or failed, where none of those that are served is sampled', async () => {
    const answers = [
      (): never => {
        throw new ApiError({ kind: 'insufficient_balance' });
      },
      (): never => {
        throw new Error(secret);
      },
    ];
    const handler: Route['handler'] = (_req, res) => {
      answers.shift()?.();
      res.json({});
    };
    const send = async (url: string) => {
      for (const status of [402, 500, 200]) expect((await post(url)).status).toBe(status);
      await fetch(`${url}/${secret}`);
    };
    const lines = await linesOf(handler, send, { sampleRatio: 0, count: 3 });
    expect(lines).toMatchObject([
      { status: 402, fault: 'insufficient_balance', route: 'POST /calls' },
      { status: 500, fault: 'unforeseen', route: 'POST /calls' },
      { status: 404, route: 'unlisted' },
    ]);
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('has a thousand lines of failures a second as long as it is read, and counts the others', () => {
    jest.useFakeTimers();
    try {
      const lines: object[] = [];
      let isRead = true;
      const accessLog = new AccessLog({ write: (line) => isRead && lines.push(line) > 0 }, { sampleRatio: 1 });
      const res = new ServerResponse(new IncomingMessage(new Socket()));
      const refuse = (status: number) =>
        accessLog.write(res, { route: '', fault: '', facts: undefined }, { status, outcome: 'whole', ms: 1 });
      for (let count = 0; count < 1_200; count += 1) refuse(429);
      expect(lines).toHaveLength(1_000);
      jest.advanceTimersByTime(1_000);
      refuse(429);
      refuse(429);
      expect(lines.slice(1_000)).toMatchObject([{ leftOut: 200 }, { leftOut: undefined }]);
      isRead = false;
      for (let count = 0; count < 3; count += 1) refuse(429);
      isRead = true;
      refuse(429);
      expect(lines.slice(1_002)).toMatchObject([{ leftOut: 3 }]);
    } finally {
      jest.useRealTimers();
    }
  });
});
