import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { createHttpApp } from '@turnpike/http-service/createHttpApp';
import { createInternalGuard } from '@turnpike/http-service/guard';
import { listen } from '@turnpike/http-service/listen';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { createTokenIssuer, createTokenVerifier, INTERNAL_TOKEN_HEADER } from '@turnpike/internal-auth/internalToken';
import { createLogger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { z } from 'zod';
import { defineApi, type FaultOf } from './internalApi.ts';
import { type CallFailure, createClient, InternalCallError, isRefusal } from './transport/createClient.ts';
import { createFaultWording, type Handlers, serveApi } from './transport/serveApi.ts';

const things = defineApi('catalog', {
  getThing: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/things/:thing_id',
    promise: '',
    params: z.object({
      thing_id: z.string().min(1).max(8),
      after: z.coerce.number<number>().int().min(0).default(0),
    }),
    answer: z.object({ thing_id: z.string(), after: z.number() }),
    answerLimitBytes: 100,
    faults: { thing_busy: { status: 503, message: '{owner} has it.', retryAfterSeconds: 2 } },
  },
  putThing: {
    callers: ['operator'],
    method: 'PUT',
    path: '/internal/things',
    promise: '',
    body: z.strictObject({ price: z.string().transform(BigInt), note: z.string().default('none') }),
    bodyLimitBytes: 64,
    answer: z.object({ price: z.string(), note: z.string() }),
  },
  getAll: {
    callers: ['operator'],
    method: 'GET',
    path: '/internal/all',
    promise: '',
    answer: z.object({ version: z.number() }),
    etag: ({ version }: { version: number }) => `"${version}"`,
  },
});
const { getThing } = things.routes;

const fleet = aFleet();
const asOperator = createTokenIssuer({ key: fleet.keyOf('operator') });
let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});
const urlOf = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const asWritten: Handlers<typeof things> = {
  getThing: ({ params }) => params,
  putThing: ({ body: { price, note } }) => ({ price: String(price), note }),
  getAll: async () => ({ version: 7 }),
};

/** The routes as a service serves them; some of its handlers may be the test's own. */
async function serveThings(changes: Partial<Handlers<typeof things>> = {}) {
  const app = createHttpApp({
    log: createLogger({ service: 'test', level: 'silent' }),
    telemetry: noTelemetry,
    toWireError: createFaultWording(things),
    routes: serveApi(things, {
      guard: createInternalGuard({ audience: 'us/catalog', keys: fleet.publicKeys }),
      handlers: { ...asWritten, ...changes },
    }),
  });
  server = await listen(app, { host: '127.0.0.1', port: 0 });
}

/** Anything that speaks HTTP in the place of the service. */
async function serveAnything(listener: RequestListener) {
  server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
}

/** Waits long, unless the test is about waiting: a busy machine may take its time. */
const aClient = ({ timeoutMs = 60_000 } = {}) =>
  createClient(things, {
    url: urlOf(),
    internalHeaders: asOperator,
    timeoutMs,
  });

async function send(method: string, path: string, body?: string, signed?: Record<string, string>) {
  const [pattern = ''] = path.replace(/(?<=^\/internal\/things\/)[^/?]+/, ':thing_id').split('?');
  const headers = signed ?? (await asOperator('catalog', `${method} ${pattern}`));
  const answer = await fetch(urlOf() + path, { method, headers, ...(body !== undefined && { body }) });
  return { status: answer.status, body: await answer.json(), retryAfter: answer.headers.get('retry-after') };
}

async function failureOf(call: Promise<unknown>): Promise<CallFailure> {
  const error = await call.then(
    () => new Error('it was answered'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof InternalCallError) return error.failure;
  throw error;
}

it('words no fault in two ways', async () => {
  await serveThings();
  const thing_busy = { status: 503, message: 'Wait.' };
  const routes = { ...things.routes, putThing: { ...things.routes.putThing, faults: { thing_busy } } };
  expect(() => createFaultWording({ routes })).toThrow('two routes word thing_busy differently');
});

it('carries parameters of path and query, bodies and answers from the caller to the handler and back', async () => {
  await serveThings();
  const client = aClient();
  expect(await client.getThing({ params: { thing_id: 'a/b ?c' } })).toEqual({ thing_id: 'a/b ?c', after: 0 });
  expect(await client.getThing({ params: { thing_id: 'a', after: 7 } })).toEqual({ thing_id: 'a', after: 7 });
  expect(await client.putThing({ body: { price: '5' } })).toEqual({ price: '5', note: 'none' });
});

it('serves a route to the callers that it declares, and to no other service of the fleet', async () => {
  await serveThings();
  const asEdge = createTokenIssuer({ key: fleet.keyOf('edge') });
  expect(await send('GET', '/internal/all', undefined, await asEdge('catalog', 'GET /internal/all'))).toMatchObject({
    status: 403,
    body: { error: 'caller_not_allowed' },
  });
});

it('serves nothing to a caller without a token for the service', async () => {
  await serveThings();
  for (const headers of [{}, await asOperator('auth', 'GET /internal/all')])
    expect(await send('GET', '/internal/all', undefined, headers)).toMatchObject({
      status: 401,
      body: { error: 'invalid_internal_token' },
    });
});

it.each([
  ['a parameter of the path', 'GET', '/internal/things/ninechars', undefined, 'thing_id'],
  ['a parameter of the query', 'GET', '/internal/things/a?after=-1', undefined, 'after'],
  ['a parameter given twice', 'GET', '/internal/things/a?after=1&after=2', undefined, 'after'],
  ['a field of the body', 'PUT', '/internal/things', '{"price": 5}', 'price'],
  ['a body with an unknown field', 'PUT', '/internal/things', '{"price": "5", "x": 1}', 'body'],
  ['no JSON', 'PUT', '/internal/things', '{"price', 'body'],
  ['too long a body', 'PUT', '/internal/things', `{"price": "${'5'.repeat(64)}"}`, 'body'],
  ['no body', 'PUT', '/internal/things', undefined, 'price'],
])('answers 400 to %s that is wrong, and names it', async (_what, method, path, body, param) => {
  await serveThings();
  expect(await send(method, path, body)).toMatchObject({
    status: 400,
    body: { error: 'invalid_request', param, message: expect.stringMatching(new RegExp(`^${param} `)) },
  });
});

it('takes no parameter of the path from the query', async () => {
  await serveThings();
  expect(await send('GET', '/internal/things/a?thing_id=b')).toMatchObject({ body: { thing_id: 'a' } });
});

it('words a fault that a route declares, and the caller can tell it apart', async () => {
  const refuse = () => {
    throw new ApiError<FaultOf<typeof things>>({ kind: 'thing_busy', owner: 'Ann' });
  };
  await serveThings({ getThing: refuse });
  expect(await send('GET', '/internal/things/a')).toEqual({
    status: 503,
    body: { error: 'thing_busy', message: 'Ann has it.' },
    retryAfter: '2',
  });
  const error: unknown = await aClient()
    .getThing({ params: { thing_id: 'a' } })
    .catch((thrown: unknown) => thrown);
  expect(isRefusal(error, getThing, 'thing_busy')).toBe(true);
  expect(error).toMatchObject({
    message: 'catalog answered 503 (thing_busy) to GET /internal/things/:thing_id',
    failure: { kind: 'refused', status: 503, message: 'Ann has it.', requestId: expect.any(String) },
  });
});

it('gives back the answer that the caller has, and sends none, while it is in force', async () => {
  let version = 7;
  await serveThings({ getAll: () => ({ version }) });
  const client = aClient();
  const first = await client.getAll();
  expect(await client.getAll({ known: first })).toBe(first);
  version = 8;
  expect(await client.getAll({ known: first })).toEqual({ version: 8 });
});

it('signs each call for the service alone', async () => {
  let token: unknown;
  await serveAnything((req, res) => {
    token = req.headers[INTERNAL_TOKEN_HEADER];
    res.end('{"version": 1}');
  });
  await aClient().getAll();
  const verify = createTokenVerifier({ audience: 'us/catalog', keys: fleet.publicKeys });
  expect(await verify(token, 'GET /internal/all')).toMatchObject({ service: 'operator' });
});

it.each<[string, RequestListener, Partial<CallFailure>]>([
  ['is no JSON', (_req, res) => res.end('<html>'), { kind: 'malformed' }],
  ['has another shape', (_req, res) => res.end('{"thing_id": 5}'), { kind: 'malformed' }],
  ['is a refusal in nobody’s words', (_req, res) => res.writeHead(404).end('<html>'), { kind: 'refused', status: 404 }],
  ['is longer than it may be', (_req, res) => res.end(' '.repeat(101)), { kind: 'unanswered' }],
  ['never ends', (_req, res) => void res.write('{'), { kind: 'late' }],
  ['never begins', () => {}, { kind: 'late' }],
  ['breaks off', (_req, res) => void res.write('{', () => res.destroy()), { kind: 'unanswered' }],
])('says what is wrong with an answer that %s', async (_what, listener, failure) => {
  await serveAnything(listener);
  const client = aClient({ timeoutMs: failure.kind === 'late' ? 200 : 60_000 });
  expect(await failureOf(client.getThing({ params: { thing_id: 'a' } }))).toMatchObject(failure);
});

it('says that nobody answers where nobody listens', async () => {
  await serveAnything(() => {});
  const client = aClient();
  await new Promise((resolve) => server.close(resolve));
  expect(await failureOf(client.getAll())).toEqual({ kind: 'unanswered' });
});
