import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { generateApiKey, toKeySha256 } from '@turnpike/api-keys/apiKey';
import { CHAT_ROUTE, KEY_HEADER } from '@turnpike/console-api/chatRoute';
import { aKeyRecordBody } from '@turnpike/internal-api/keyRecord';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import { CLIENT_ADDRESS_HEADER } from '@turnpike/internal-auth/clientAddress';
import { CONSOLE_CALLER_HEADER, signConsoleToken } from '@turnpike/internal-auth/consoleToken';
import { createTokenVerifier, INTERNAL_TOKEN_HEADER } from '@turnpike/internal-auth/internalToken';
import { CALL_ID_HEADER } from '@turnpike/public-api/headers';
import { type HttpStandIn, serveHttp } from '@turnpike/test-support/serveHttp';
import { until } from '@turnpike/test-support/until';
import { startConsole } from './startConsole.ts';

const ORIGIN = 'https://console.example';
const fleet = aFleet('us');
const global = aFleet('global');
const body = JSON.stringify({ model: 'small-chat', messages: [{ role: 'user', content: 'Hi' }], stream: true });
/** The workspace of each known key. */
const workspaceOf = new Map<string, string>();
const received: { req: IncomingMessage; res: ServerResponse; body: string }[] = [];
let answer: (res: ServerResponse) => void;
let isAuthAway = false;

const verify = createTokenVerifier({ audience: 'us/auth', keys: fleet.publicKeys });
/** Answers as auth does, to the edge alone. */
const auth: RequestListener = async (req, res) => {
  const caller = await verify(req.headers[INTERNAL_TOKEN_HEADER], 'POST /internal/keys/verify');
  if (caller?.service !== 'edge' || isAuthAway) return void res.writeHead(500).end();
  const workspaceId = workspaceOf.get(JSON.parse(await text(req)).key_sha256);
  const known = aKeyRecordBody();
  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify({ key: workspaceId ? { ...known, workspace: { ...known.workspace, workspaceId } } : null }));
};

let servers: HttpStandIn[];
let host: { port: number; stop(): void };
let port: number;
beforeAll(async () => {
  const router = await serveHttp(async (req, res) => {
    const call = { req, res, body: '' };
    received.push(call);
    call.body = await text(req);
    answer(res);
  });
  servers = [router, await serveHttp(auth)];
  host = await startConsole({
    allowedOrigin: ORIGIN,
    urls: { auth: servers[1]?.url ?? '' },
    routerUrl: router.url,
    publicKeys: [...fleet.publicKeys, ...global.publicKeys],
    signingKey: fleet.keyOf('edge'),
  });
  ({ port } = host);
});
beforeEach(() => {
  received.length = 0;
  isAuthAway = false;
  answer = (res) => res.end('{}');
});
afterAll(async () => {
  host.stop();
  for (const server of servers) await server.close();
});

function aKey(workspaceId: string): string {
  const key = generateApiKey();
  workspaceOf.set(toKeySha256(key), workspaceId);
  return key;
}

async function ask({
  role = 'developer',
  key = aKey('ws_1') as string | null,
  headers = {} as Record<string, string>,
  signal = undefined as AbortSignal | undefined,
} = {}): Promise<Response> {
  const caller = { userId: 'u1', organizationId: 'o1', workspaceId: 'ws_1', role };
  const { token } = await signConsoleToken(caller, {
    region: 'us',
    key: global.keyOf('control-plane'),
    now: new Date(),
  });
  return fetch(`http://127.0.0.1:${port}${CHAT_ROUTE.path}`, {
    method: 'POST',
    headers: {
      origin: ORIGIN,
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(key !== null && { [KEY_HEADER]: key }),
      ...headers,
    },
    body,
    signal: signal ?? null,
  });
}
const errorOf = async (response: Response) => [response.status, ((await response.json()) as { error: string }).error];

it('passes a chat call on with the key alone, and streams the answer as it comes', async () => {
  answer = (res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream', [CALL_ID_HEADER]: 'call-1', server: 'router' });
    res.write('data: 1\n\n');
  };
  const key = aKey('ws_1');
  const forged = { 'x-turnpike-client': 'forged', cookie: 'a=b', 'x-forwarded-for': '1.2.3.4' };
  const response = await ask({ key, headers: forged });
  const reader = response.body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: 1\n\n');
  const [call] = received;
  expect(call?.res.writableEnded).toBe(false);
  expect([call?.req.method, call?.req.url, call?.body]).toEqual(['POST', '/v1/chat/completions', body]);
  expect(call?.req.headers.authorization).toBe(`Bearer ${key}`);
  expect(call?.req.headers[CLIENT_ADDRESS_HEADER]).toContain('127.0.0.1');
  for (const absent of [
    KEY_HEADER,
    CONSOLE_CALLER_HEADER,
    INTERNAL_TOKEN_HEADER,
    'cookie',
    'x-forwarded-for',
    'origin',
  ])
    expect(call?.req.headers).not.toHaveProperty(absent);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    [CALL_ID_HEADER]: 'call-1',
    'access-control-allow-origin': ORIGIN,
    'access-control-expose-headers': expect.stringContaining(CALL_ID_HEADER),
    'x-request-id': call?.req.headers['x-request-id'],
  });
  expect(response.headers.get('server')).toBeNull();
  call?.res.end('data: [DONE]\n\n');
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: [DONE]\n\n');
  expect((await reader?.read())?.done).toBe(true);
});

it('ends the call at the router once the browser leaves', async () => {
  answer = (res) => res.write('data: 1\n\n');
  const leave = new AbortController();
  await ask({ signal: leave.signal });
  leave.abort();
  await until('the end of the call', () => received[0]?.res.destroyed);
});

it('cuts an answer that breaks off', async () => {
  answer = (res) => {
    res.write('data: 1\n\n');
    setImmediate(() => res.destroy());
  };
  await expect((await ask()).text()).rejects.toThrow();
});

it('passes refusals of the router on as they are', async () => {
  answer = (res) => res.writeHead(402, { 'x-should-retry': 'false' }).end('{"error":{"message":"spend_cap_reached"}}');
  const response = await ask();
  expect([response.status, response.headers.get('x-should-retry')]).toEqual([402, 'false']);
  expect(await response.text()).toBe('{"error":{"message":"spend_cap_reached"}}');
});

it.each([
  ['without a key', async () => ask({ key: null }), 'foreign_key'],
  ['with two keys', async () => ask({ key: `${aKey('ws_1')}, ${aKey('ws_1')}` }), 'foreign_key'],
  ['with a key of another workspace', async () => ask({ key: aKey('ws_2') }), 'foreign_key'],
  ['with a key that auth does not know', async () => ask({ key: generateApiKey() }), 'foreign_key'],
  ['of a billing viewer', async () => ask({ role: 'billing_viewer' }), 'right_missing'],
  ['of an unknown role', async () => ask({ role: 'root' }), 'right_missing'],
  ['from another origin', async () => ask({ headers: { origin: 'https://evil.example' } }), 'foreign_origin'],
])('refuses a call %s', async (_case, call, error) => {
  expect(await errorOf(await call())).toEqual([403, error]);
  expect(received).toEqual([]);
});

it('refuses a call without a console token, with an API key alone', async () => {
  const response = await ask({ headers: { authorization: `Bearer ${aKey('ws_1')}` } });
  expect(await errorOf(response)).toEqual([401, 'invalid_console_token']);
  expect(received).toEqual([]);
});

it('answers 503 while auth gives no verdict, and passes nothing on', async () => {
  isAuthAway = true;
  const response = await ask();
  expect(await errorOf(response)).toEqual([503, 'service_unavailable']);
  expect(response.headers.get('retry-after')).toBe('1');
  expect(received).toEqual([]);
});

it('says in the words of the API that the router is away', async () => {
  answer = (res) => res.destroy();
  const response = await ask();
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: { code: 'service_unavailable' } });
});

it('allows the header of the key to pages of the origin', async () => {
  const preflight = await fetch(`http://127.0.0.1:${port}${CHAT_ROUTE.path}`, {
    method: 'OPTIONS',
    headers: { origin: ORIGIN },
  });
  expect(preflight.headers.get('access-control-allow-headers')).toContain(KEY_HEADER);
  expect(preflight.headers.get('access-control-allow-methods')).toBe('POST');
});
