import type { RequestListener } from 'node:http';
import { afterEach, expect, it } from '@jest/globals';
import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import { type CallCase, type FuzzCase, KEY } from './cases/fuzzCase.ts';
import type { Problem } from './oracle/answer.ts';
import { createJudge } from './oracle/createJudge.ts';
import { type BookPages, compareBooks } from './run/books.ts';
import { createLoopProbe } from './run/loopProbe.ts';
import { runFuzz } from './run/runFuzz.ts';
import { createSender, type Sender } from './run/sendCase.ts';
import { tryCase } from './run/tryCase.ts';

const API_KEY = `sk-${'k'.repeat(40)}`;
const ID = '019a0000-0000-7000-8000-000000000000';
/** No answer of a stand-in takes a moment, unless the machine does. */
const PATIENCE_MS = 30_000;
const IMPATIENCE_MS = 500;
const judge = createJudge({ secrets: [API_KEY] });

let server: HttpStandIn;
let sender: Sender;
afterEach(async () => {
  await sender.close();
  await server.close();
});

/** Stands in for the gateway, and misbehaves. */
async function standIn(listener: RequestListener, { timeoutMs = PATIENCE_MS } = {}): Promise<string> {
  server = await serveHttp(listener);
  const origin = server.url;
  sender = createSender({ origin, apiKeys: [API_KEY], connections: 4, timeoutMs });
  return origin;
}

const CHAT = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const aCase = (call: Partial<CallCase> = {}): CallCase => ({
  kind: 'call',
  method: 'POST',
  path: '/v1/chat/completions',
  headers: [
    ['authorization', `Bearer ${KEY}`],
    ['content-type', 'application/json'],
  ],
  body: Buffer.from(JSON.stringify(CHAT)),
  chunkBytes: undefined,
  ...call,
});

const LIMITS = {
  'x-ratelimit-limit-requests': '600',
  'x-ratelimit-limit-tokens': '1000000',
  'x-ratelimit-remaining-requests': '599',
  'x-ratelimit-remaining-tokens': '0',
  'x-ratelimit-reset-requests': '0.1s',
  'x-ratelimit-reset-tokens': '12s',
};
const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': ID };
const CALL_HEADERS = { ...JSON_HEADERS, 'x-router-call-id': ID };
const REFUSED_HEADERS = { ...CALL_HEADERS, 'x-error-message': 'no' };
const refusal = (message: string) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } });

interface Told {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** Returns the problems of an answer to a case. */
async function problemsOf(
  { status = 400, headers = REFUSED_HEADERS, body = refusal('no') }: Told,
  sent: FuzzCase = aCase(),
) {
  await standIn((req, res) => {
    req.resume().on('end', () => {
      res.writeHead(status, headers);
      res.end(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
    });
  });
  const { problems } = await tryCase(sent, { sender, judge });
  return problems.map(({ kind, text }: Problem) => `${kind}: ${text}`).join('\n');
}

it('has nothing to say of a good refusal', async () => {
  expect(await problemsOf({})).toBe('');
});

it.each([
  ['a 500', { status: 500 }, aCase(), 'answered 500, not 200 or 400 or 404'],
  ['a 503 without cause', { status: 503 }, aCase(), 'answered 503'],
  ['a status of no operation', { status: 418 }, aCase(), 'has a status that is not documented'],
  ['a status of another family', { status: 413 }, aCase(), 'answered 413'],
  [
    'JSON that is none and is served',
    { status: 200 },
    aCase({ body: Buffer.from('{"a":01}') }),
    'answered 200, not 400',
  ],
  ['a NUL that is served', { status: 200 }, aCase({ body: Buffer.from('{"a":"\\u0000"}') }), 'answered 200, not 400'],
  [
    'depth that is served',
    { status: 200 },
    aCase({ body: Buffer.from(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`) }),
    'answered 200, not 400',
  ],
  ['a wrong key that is let in', {}, aCase({ headers: [['authorization', 'Bearer x']] }), 'answered 400, not 401'],
  [
    'a compressed body that is read',
    { status: 200 },
    aCase({ headers: [...aCase().headers, ['content-encoding', 'gzip']] }),
    'answered 200, not 400',
  ],
  ['a wrong method that is served', {}, aCase({ method: 'PUT' }), 'answered 400, not 405'],
  [
    'a path trick that is served',
    { status: 200 },
    aCase({ method: 'GET', path: '/v1/models/a%2fb', body: undefined }),
    'answered 200, not 404',
  ],
])('tells of %s', async (_case, told, sent, problem) => {
  expect(await problemsOf(told, sent)).toContain(problem);
});

it.each([
  ['no JSON', { body: '<html>' }, 'has a body that is no JSON'],
  ['another media type', { headers: { ...CALL_HEADERS, 'content-type': 'text/html' } }, 'is text/html'],
  ['another shape', { body: { detail: 'x' } }, "must have required property 'error'"],
  ['no request id', { headers: { 'content-type': 'application/json', 'x-router-call-id': ID } }, 'has no x-request-id'],
  ['no call id', { headers: JSON_HEADERS }, 'has no x-router-call-id'],
  ['bytes that are no text', { body: Buffer.from([0x22, 0xff, 0x22]) }, 'is no UTF-8'],
  [
    'leave for browsers',
    { headers: { ...CALL_HEADERS, 'access-control-allow-origin': '*' } },
    'access-control-allow-origin',
  ],
])('tells of a body with %s', async (_case, told, problem) => {
  expect(await problemsOf(told)).toContain(problem);
});

it.each([
  'TypeError: x is not a function',
  'boom at Layer.handle (layer.js:95)',
  'connect ECONNREFUSED',
  'no engine at 127.0.0.1:8001',
  'SELECT charge FROM usage_request',
  'in /app/services/edge/src/app.ts',
  `the key ${API_KEY}`,
  'engine-2/llama is away',
])('tells of an error that shows %s', async (message) => {
  expect(await problemsOf({ body: refusal(message) })).toMatch(/^leak: shows /m);
});

it('does not take a client’s own words for a leak', async () => {
  const body = Buffer.from(JSON.stringify({ ...CHAT, model: 'http://127.0.0.1:1/a' }));
  expect(await problemsOf({ body: refusal('no http://127.0.0.1:1/a') }, aCase({ body }))).toBe('');
});

const CHUNK = { id: 'a', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [] };
const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
it.each([
  ['is whole', `${event(CHUNK)}data: [DONE]\n\n`, ''],
  ['ends in an error', `${event(CHUNK)}${event(refusal('cut'))}`, ''],
  ['ends as if whole', event(CHUNK), 'shape: ends as if whole'],
  ['ends within an event', `${event(CHUNK)}data: {`, 'shape: ends within an event'],
  ['is no chunk', `${event({ ...CHUNK, x: 1 })}data: [DONE]\n\n`, 'additional properties'],
  ['is no JSON', 'data: {\n\ndata: [DONE]\n\n', 'shape: has an event that is no JSON'],
  ['shows the inside', event(refusal('ECONNRESET')), 'leak: shows "ECONNRESET"'],
])('reads a stream that %s', async (_case, body, problem) => {
  const headers = { ...CALL_HEADERS, ...LIMITS, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' };
  const found = await problemsOf({ status: 200, headers, body });
  expect(problem === '' ? found : found.includes(problem)).toBe(problem === '' ? '' : true);
});

it('tells of a connection that is cut, and of silence', async () => {
  await standIn((req) => req.socket.destroy());
  expect((await tryCase(aCase(), { sender, judge })).problems).toMatchObject([{ kind: 'silence' }]);
  await sender.close();
  await server.close();
  await standIn(() => undefined, { timeoutMs: IMPATIENCE_MS });
  expect((await tryCase(aCase(), { sender, judge })).problems).toMatchObject([{ kind: 'silence' }]);
});

it('tells of a hidden request that is answered', async () => {
  await standIn((_req, res) =>
    res.writeHead(400, { ...JSON_HEADERS, 'x-error-message': 'no' }).end(JSON.stringify(refusal('no'))),
  );
  const one = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
  const raw = (text: string): FuzzCase => ({
    kind: 'raw',
    bytes: Buffer.from(text),
    statuses: [400],
    hidesAnother: true,
  });
  expect((await tryCase(raw(one + one), { sender, judge })).problems).toMatchObject([{ kind: 'answers' }]);
});

/** A gateway without fault, but for what its event loop is said to have been blocked for. */
const runStandIn = async (blockedSeconds: (isAlone: boolean) => number) => {
  let sinceTaken = 0;
  const origin = await standIn((req, res) => {
    if (req.url === '/metrics') {
      const isAlone = sinceTaken === 1;
      sinceTaken = 0;
      res.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8');
      return res.end(`turnpike_event_loop_blocked_seconds ${blockedSeconds(isAlone)}\n`);
    }
    sinceTaken += 1;
    return req.resume().on('end', () => res.writeHead(400).end());
  });
  const loops = createLoopProbe([`${origin}/metrics`]);
  return runFuzz({ sender, judge: () => [], loops }, { draw: { seed: 1, of: 'all' }, from: 0, cases: 12, inFlight: 4 });
};

it('tells of inputs that block an event loop by themselves, each time', async () => {
  const { groups } = await runStandIn(() => 0.3);
  expect(groups).toMatchObject([{ count: 12, problem: { kind: 'stall' } }]);
});

it('does not take for an input’s what many did together', async () => {
  const { groups, unsteady } = await runStandIn((isAlone) => (isAlone ? 0.1 : 0.3));
  expect({ groups, unsteady }).toEqual({ groups: [], unsteady: 1 });
});

it('counts a 503 only if it comes again alone, and a 500 always', async () => {
  let calls = 0;
  const failing = async (status: number) => {
    await standIn((req, res) => {
      calls += 1;
      // The first of the run fails, and none after it.
      req
        .resume()
        .on('end', () => res.writeHead(calls === 1 ? status : 400, CALL_HEADERS).end(JSON.stringify(refusal('no'))));
    });
    calls = 0;
    const judgeStatus = (_case: FuzzCase, answer: { status: number }): Problem[] =>
      answer.status >= 500 ? [{ kind: 'status', text: 'bad', mayBeTheMachine: answer.status === 503 }] : [];
    const loops = { takeBlockedMs: async () => 0 };
    const { findings, unsteady } = await runFuzz(
      { sender, judge: judgeStatus, loops },
      { draw: { seed: 3, of: 'all' }, from: 0, cases: 4, inFlight: 1 },
    );
    await sender.close();
    await server.close();
    return { findings, unsteady };
  };
  expect(await failing(503)).toEqual({ findings: 0, unsteady: 1 });
  expect(await failing(500)).toEqual({ findings: 1, unsteady: 0 });
});

const balance = (spent: bigint, held = 0n) => ({ spent, held });
const PAGES = {
  rows: [
    { callId: 'a', status: 'success', charge: 5n },
    { callId: 'b', status: 'failure', charge: 0n },
  ] as unknown as BookPages['rows'],
  totals: {
    byKey: new Map([['k', 5n]]),
    byWorkspace: new Map([['w', 5n]]),
    byMonth: new Map([['w 2026-11', 5n]]),
    hourlyRequests: 2,
    hourlyCharge: 5n,
    credited: new Map([['w', 10n]]),
    sequence: new Map([['w', 2n]]),
  },
  balances: {
    wallet: { left: 6n, sequence: 1, held: 0n, ended: 1n },
    keys: new Map([['k', balance(5n)]]),
    months: new Map(),
    pendingCalls: 0,
  },
  mediaCallIds: new Set<string>(),
  shownSpend: 5n,
} satisfies BookPages;

it.each<[string, BookPages, string[], string]>([
  [
    'a spend that no row has',
    { ...PAGES, shownSpend: 6n },
    ['a'],
    'what the client is told is 6, but the rows sum up to 5',
  ],
  [
    'a sum of another size',
    { ...PAGES, totals: { ...PAGES.totals, hourlyCharge: 4n } },
    ['a'],
    'the sum of the hours is 4',
  ],
  [
    'money that is still held',
    { ...PAGES, balances: { ...PAGES.balances, keys: new Map([['k', balance(5n, 1n)]]) } },
    ['a'],
    '1 nano-dollars are still held',
  ],
  ['a call without a row', PAGES, ['a', 'c'], '1 served calls have no row of success, such as c'],
  [
    'a call of media that nobody was served',
    { ...PAGES, mediaCallIds: new Set(['a']) },
    [],
    '1 calls of media succeeded',
  ],
  ['a row that nobody was served', PAGES, [], '1 calls succeeded, but 0 were served'],
  [
    'a call that is open',
    { ...PAGES, balances: { ...PAGES.balances, pendingCalls: 1 } },
    ['a'],
    '1 calls are still pending',
  ],
])('tells of books with %s', async (_case, pages, served, problem) => {
  await standIn(() => undefined);
  expect(compareBooks(PAGES, { callIds: ['a'], media: 0 })).toEqual([]);
  expect(compareBooks(pages, { callIds: served, media: 0 }).join()).toContain(problem);
});
