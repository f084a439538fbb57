import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Region } from '@turnpike/config/region';
import { aFleet } from '@turnpike/internal-auth/aFleet';
import {
  CONSOLE_CALLER_HEADER,
  type ConsoleCaller,
  signConsoleCaller,
  signConsoleToken,
  verifyConsoleCaller,
} from '@turnpike/internal-auth/consoleToken';
import { createTokenVerifier, INTERNAL_TOKEN_HEADER } from '@turnpike/internal-auth/internalToken';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { until } from '@turnpike/test-support/until';
import { SignJWT } from 'jose';
import { sendRaw, sendTarget } from './sendRaw.ts';
import { startConsole as startHost } from './startConsole.ts';
import { startEdge } from './startEdge.ts';

const ORIGIN = 'https://console.example';
const fleet = aFleet('us');
const global = aFleet('global');
const controlPlane = global.keyOf('control-plane');
const publicKeys = [...fleet.publicKeys, ...global.publicKeys];
const CALLER: ConsoleCaller = { userId: 'u1', organizationId: 'o1', workspaceId: 'ws_1', role: 'developer' };
const LIST_KEYS = 'GET /console/keys';

const received: IncomingMessage[] = [];
const warned: string[] = [];
const OK: RequestListener = (_req, res) => {
  res.setHeader('Content-Type', 'application/json');
  res.setHeader('Set-Cookie', 'a=b');
  res.setHeader('Access-Control-Allow-Origin', '*');
  res.setHeader('Access-Control-Allow-Credentials', 'true');
  res.setHeader('Server', 'auth');
  res.end('{"keys":[]}');
};
let respond = OK;
let auth: Server;
const stops: (() => void)[] = [];

async function startConsole(authPort: number, limits: Partial<Parameters<typeof startHost>[0]> = {}): Promise<number> {
  const { port, stop } = await startHost({
    allowedOrigin: ORIGIN,
    urls: { auth: `http://127.0.0.1:${authPort}`, catalog: `http://127.0.0.1:${authPort}` },
    publicKeys,
    signingKey: fleet.keyOf('edge'),
    ...limits,
    onWarning: (message) => warned.push(message),
  });
  stops.push(stop);
  return port;
}

let port: number;
beforeAll(async () => {
  auth = createServer((req, res) => {
    received.push(req);
    respond(req, res);
  });
  await new Promise<void>((resolve) => auth.listen(0, '127.0.0.1', resolve));
  port = await startConsole((auth.address() as AddressInfo).port);
});
beforeEach(() => {
  received.length = 0;
  respond = OK;
});
afterAll(() => {
  for (const stop of stops) stop();
  auth.close();
  auth.closeAllConnections();
});

const aToken = async ({ region = 'us' as Region, key = controlPlane, agoMs = 0 } = {}): Promise<string> =>
  (await signConsoleToken(CALLER, { region, key, now: new Date(Date.now() - agoMs) })).token;

/** Signs a token that is a console token but for what is given. */
function aSpecialToken({
  typ = 'console+jwt',
  kid = controlPlane.id,
  seconds = 300,
  agoSeconds = 0,
} = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1_000) - agoSeconds;
  return new SignJWT({ organization_id: 'o1', workspace_id: 'ws_1', role: 'owner' })
    .setProtectedHeader({ alg: 'EdDSA', kid, typ })
    .setIssuer('global/control-plane')
    .setAudience('console:us')
    .setSubject('u1')
    .setIssuedAt(now)
    .setExpirationTime(now + seconds)
    .sign(controlPlane.privateKey);
}

interface Request {
  method?: string;
  target?: string;
  origin?: string | undefined;
  authorization?: string | undefined;
  headers?: string[];
}

async function ask(request: Request = {}, at = port) {
  const { method = 'GET', target = '/console/keys', headers = [] } = request;
  const origin = 'origin' in request ? request.origin : ORIGIN;
  const authorization = 'authorization' in request ? request.authorization : `Bearer ${await aToken()}`;
  const own = [
    ...(origin === undefined ? [] : [`Origin: ${origin}`]),
    ...(authorization === undefined ? [] : [`Authorization: ${authorization}`]),
  ];
  const { status, head, body } = await sendTarget(at, { method, target, headers: [...own, ...headers] });
  return { status, head: head.toLowerCase(), error: /^\{"error":"(\w+)"/.exec(body)?.[1], body };
}

it('passes a request on with its caller in one signed header, and answers the allowed origin', async () => {
  const { status, head, body } = await ask({ target: '/console/keys?after=key_1' });
  expect([status, body]).toEqual([200, '{"keys":[]}']);
  expect(head).toContain(`access-control-allow-origin: ${ORIGIN}\r\n`);
  for (const absent of ['set-cookie', 'access-control-allow-credentials', 'allow-origin: *', 'server:'])
    expect(head).not.toContain(absent);
  const [req] = received;
  expect(req?.url).toBe('/console/keys?after=key_1');
  const named = req?.headers[CONSOLE_CALLER_HEADER];
  expect(verifyConsoleCaller(named, LIST_KEYS, { keys: fleet.publicKeys })).toEqual(CALLER);
  expect(verifyConsoleCaller(named, 'POST /console/keys', { keys: fleet.publicKeys })).toBeUndefined();
  const verify = createTokenVerifier({ audience: 'us/auth', keys: fleet.publicKeys });
  expect(await verify(req?.headers[INTERNAL_TOKEN_HEADER], LIST_KEYS)).toMatchObject({ service: 'edge' });
});

describe('a public route', () => {
  const aList = { target: '/console/models' };

  it('takes no token, names no caller, and may be cached where the service allows it', async () => {
    respond = (_req, res) => {
      res.setHeader('Cache-Control', 'public, max-age=10');
      res.end('{"models":[]}');
    };
    for (const authorization of [undefined, 'Bearer nonsense', `Bearer ${await aToken()}`]) {
      const { status, head, body } = await ask({ ...aList, authorization });
      expect([status, body]).toEqual([200, '{"models":[]}']);
      expect(head.match(/cache-control: .*/g)).toEqual(['cache-control: public, max-age=10']);
      expect(head).toContain(`access-control-allow-origin: ${ORIGIN}\r\n`);
    }
    expect(received).toHaveLength(3);
    for (const { headers } of received) {
      expect(headers).not.toHaveProperty(CONSOLE_CALLER_HEADER);
      expect(headers).not.toHaveProperty('authorization');
    }
  });

  it('serves the allowed origin alone, and its refusals are not cached', async () => {
    for (const [origin, refused] of [
      [undefined, 404],
      ['https://evil.example', 403],
    ] as const) {
      const { status, head } = await ask({ ...aList, origin, authorization: undefined });
      expect(status).toBe(refused);
      expect(head).toContain('cache-control: no-store\r\n');
    }
    expect((await ask({ ...aList, method: 'POST', authorization: undefined })).status).toBe(405);
    expect(received).toEqual([]);
  });
});

describe('401 for', () => {
  it.each<[string, () => Promise<string | undefined>]>([
    ['no token', async () => undefined],
    ['no scheme', () => aToken()],
    ['a token of another region', async () => `Bearer ${await aToken({ region: 'eu' })}`],
    ['a token that has expired', async () => `Bearer ${await aToken({ agoMs: 5 * 60_000 })}`],
    [
      'a token for an hour, 7 minutes old',
      async () => `Bearer ${await aSpecialToken({ agoSeconds: 420, seconds: 3_600 })}`,
    ],
    ['a token of another kind', async () => `Bearer ${await aSpecialToken({ typ: 'turnpike-internal+jwt' })}`],
    ['a token without a kind', async () => `Bearer ${await aSpecialToken({ typ: 'JWT' })}`],
    [
      'a token whose key is that of the edge',
      async () => `Bearer ${await aSpecialToken({ kid: fleet.keyOf('edge').id })}`,
    ],
    ['a token that the edge signed', async () => `Bearer ${await aToken({ key: fleet.keyOf('edge') })}`],
    ['an API key', async () => 'Bearer sk-0123456789'],
  ])('%s', async (_case, authorization) => {
    const answer = await ask({ authorization: await authorization() });
    expect([answer.status, answer.error]).toEqual([401, 'invalid_console_token']);
    expect(received).toEqual([]);
  });

  it('two tokens', async () => {
    expect((await ask({ headers: [`Authorization: Bearer ${await aToken()}`] })).status).toBe(401);
  });
});

it('answers 404 to a browser that opens a page, which sends no origin', async () => {
  const navigation = ['Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document', 'Accept: text/html'];
  for (const target of ['/', '/console/keys', '/console/models']) {
    const answer = await ask({ target, origin: undefined, authorization: undefined, headers: navigation });
    expect([answer.status, answer.error]).toEqual([404, 'not_found']);
  }
  expect((await ask({ origin: undefined })).status).toBe(404);
  expect((await ask({ target: '/', origin: 'https://evil.example' })).status).toBe(404);
  expect(received).toEqual([]);
});

it.each(['null', 'https://evil.example', `${ORIGIN}.evil.example`, 'http://console.example', `${ORIGIN}, ${ORIGIN}`])(
  'refuses the origin %s',
  async (origin) => {
    for (const method of ['GET', 'OPTIONS']) {
      const { status, error, head } = await ask({ origin, method });
      expect([status, error]).toEqual([403, 'foreign_origin']);
      expect(head).not.toContain('access-control');
    }
    expect(received).toEqual([]);
  },
);

it('answers a preflight without a token, and allows no credentials', async () => {
  const headers = ['Access-Control-Request-Method: GET', 'Access-Control-Request-Headers: authorization'];
  const { status, head } = await ask({ method: 'OPTIONS', authorization: undefined, headers });
  expect(status).toBe(204);
  expect(head).toContain(`access-control-allow-origin: ${ORIGIN}`);
  expect(head).toContain('access-control-allow-headers: authorization, content-type');
  expect(head).not.toContain('credentials');
  expect(received).toEqual([]);
});

it.each([
  '/',
  '/console',
  '/console/',
  '/console/keys/',
  '//console/keys',
  '/console//keys',
  '/CONSOLE/keys',
  '/console/./keys',
  '/console/x/../keys',
  '/console/%2e%2e/internal/keys',
  '/console%2fkeys',
  '/console/keys%2f..%2finternal',
  '/console/keys;x',
  '/console/keys#x',
  'http://auth/console/keys',
  '/internal/keys',
  '/internal/keys/verify',
  '/health',
  '/metrics',
  '/v1/models',
  '/v1/svc/key',
])('404 for the path %s', async (target) => {
  const answer = await ask({ target });
  expect([answer.status, answer.error]).toEqual([404, 'not_found']);
  expect(received).toEqual([]);
});

it.each([
  ['bytes that are no HTTP', 'hello\r\n\r\n'],
  ['a request of another version', 'GET /console/keys HTTP/2.0\r\nHost: a\r\n\r\n'],
])('answers %s in the words of the console host', async (_case, text) => {
  const answer = await sendRaw(port, text);
  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
  expect(body).toEqual({ error: 'malformed_request', message: expect.any(String) });
  expect(received).toEqual([]);
});

it('405 for a method that the path does not have', async () => {
  const answer = await ask({ method: 'TRACE' });
  expect([answer.status, answer.error]).toEqual([405, 'method_not_allowed']);
  expect(answer.head).toContain('allow: get, post');
});

// The proxy skips its hook for headers where a request expects something.
it.each([[[]], [['Expect: 100-continue']], [['Connection: keep-alive, X-Turnpike-Console-Caller']]])(
  'replaces headers that only the edge may set, beside %j',
  async (beside) => {
    const foreign = { ...CALLER, workspaceId: 'ws_other' };
    const forged = [
      `X-Turnpike-Console-Caller: ${signConsoleCaller(foreign, LIST_KEYS, { key: aFleet('us').keyOf('edge') })}`,
      'X-Turnpike-Internal: forged',
      'X-Turnpike-Client: forged',
      'X-Request-Id: forged',
      'X-Forwarded-For: 1.2.3.4',
      'Forwarded: for=1.2.3.4',
      'Cookie: session=1',
      'TE: trailers',
      'Traceparent: 00-forged',
    ];
    expect([100, 200]).toContain((await ask({ headers: [...forged, ...beside] })).status);
    expect(received).toHaveLength(1);
    const headers = received[0]?.headers ?? {};
    expect(JSON.stringify(headers)).not.toMatch(/forged|1\.2\.3\.4|session=1|trailers/);
    const named = verifyConsoleCaller(headers[CONSOLE_CALLER_HEADER], LIST_KEYS, { keys: fleet.publicKeys });
    expect(named).toEqual(CALLER);
    expect(headers).not.toHaveProperty('authorization');
    expect(headers).not.toHaveProperty('origin');
  },
);

it.each([
  ['whole', '{"name":"Laptop"}'],
  ['in chunks', new Blob(['{"name":"Laptop"}']).stream()],
])('passes a body on that comes %s', async (_how, body) => {
  respond = (req, res) => void req.pipe(res);
  const headers = { origin: ORIGIN, authorization: `Bearer ${await aToken()}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
  const answer = await fetch(`http://127.0.0.1:${port}/console/keys`, init);
  expect([answer.status, await answer.text()]).toEqual([200, '{"name":"Laptop"}']);
  expect(received[0]?.headers['content-type']).toBe('application/json');
});

it('answers 503 where the service behind is away, and cuts an answer that breaks off', async () => {
  const dead = await startConsole(await findFreePort());
  const answer = await ask({}, dead);
  expect([answer.status, answer.error]).toEqual([503, 'service_unavailable']);
  expect(answer.head).toContain(`access-control-allow-origin: ${ORIGIN}`);
  respond = (req) => req.socket.destroy();
  expect((await ask()).status).toBe(503);
  respond = (_req, res) => {
    res.writeHead(200, { 'content-length': '100' });
    res.write('{');
    setImmediate(() => res.destroy());
  };
  expect((await ask()).body.length).toBeLessThan(100);
  expect(warned.at(-1)).toBe('upstream broke an answer off');
});

it('keeps its connections to a service, and adds no listener to that of the browser at each request', async () => {
  const warnings: string[] = [];
  const note = (warning: Error) => void warnings.push(warning.name);
  process.on('warning', note);
  const authorization = `Bearer ${await aToken()}`;
  for (let request = 0; request < 30; request += 1) {
    const response = await fetch(`http://127.0.0.1:${port}/console/keys`, {
      headers: { origin: ORIGIN, authorization },
    });
    expect(response.status).toBe(200);
    await response.text();
  }
  process.off('warning', note);
  expect(warnings).toEqual([]);
  expect(new Set(received.map(({ socket }) => socket.remotePort)).size).toBeLessThan(5);
});

it('sheds a flood before it looks at a token', async () => {
  const limited = await startConsole(1, { floodLimit: { requestsPerMinute: 1, burst: 2 } });
  const statuses = [];
  for (let request = 0; request < 4; request += 1)
    statuses.push((await ask({ authorization: undefined }, limited)).status);
  expect(statuses).toEqual([401, 401, 429, 429]);
});

const aTelemetry = () =>
  startTelemetry({
    service: 'edge',
    scope: 'us',
    otlpEndpoint: undefined,
    traceSampleRatio: 0,
    log: aSilentLogger(),
  });
async function readFaults(telemetry: ReturnType<typeof aTelemetry>): Promise<Record<string, number>> {
  const samples = [...(await readMetrics(telemetry))];
  return Object.fromEntries(samples.filter(([name]) => name.startsWith('turnpike_faults_total')));
}

it('counts its refusals by their codes', async () => {
  const telemetry = aTelemetry();
  const counted = await startConsole(1, { telemetry, floodLimit: { requestsPerMinute: 1, burst: 6 } });
  await ask({ authorization: undefined }, counted);
  await ask({ origin: 'https://evil.example' }, counted);
  await ask({ target: '/' }, counted);
  await ask({ method: 'TRACE' }, counted);
  await ask({ headers: ['Host: b'] }, counted);
  await ask({}, counted); // nothing listens at the service behind
  await ask({}, counted);
  expect(await readFaults(telemetry)).toEqual({
    'turnpike_faults_total{route="unlisted",fault="invalid_console_token"}': 1,
    'turnpike_faults_total{route="unlisted",fault="foreign_origin"}': 1,
    'turnpike_faults_total{route="unlisted",fault="not_found"}': 1,
    'turnpike_faults_total{route="unlisted",fault="method_not_allowed"}': 1,
    'turnpike_faults_total{route="unlisted",fault="malformed_request"}': 1,
    'turnpike_faults_total{route="GET /console/keys",fault="service_unavailable"}': 1,
    'turnpike_faults_total{route="unlisted",fault="too_many_requests"}': 1,
  });
  await telemetry.shutdown();
});

it('bounds the requests in flight of an address and in all', async () => {
  const held: ServerResponse[] = [];
  respond = (_req, res) => void held.push(res);
  const telemetry = aTelemetry();
  const bounded = await startConsole((auth.address() as AddressInfo).port, {
    telemetry,
    trustedHops: 1,
    inFlightBounds: { ofBlock: 3, inAll: 5 },
  });
  const authorization = `Bearer ${await aToken()}`;
  const askFrom = (address: string) => ask({ authorization, headers: [`X-Forwarded-For: ${address}`] }, bounded);
  const waiting: Promise<{ status: number }>[] = [];
  const hold = async (address: string, count: number) => {
    for (let request = 0; request < count; request += 1) waiting.push(askFrom(address));
    await until('the requests at the service', () => held.length === waiting.length);
  };

  await hold('203.0.113.1', 3);
  const ofAddress = await askFrom('203.0.113.1');
  expect([ofAddress.status, ofAddress.error]).toEqual([429, 'too_many_requests']);
  expect(ofAddress.head).toContain('retry-after: 1\r\n');
  await hold('203.0.113.2', 2);
  const inAll = await askFrom('198.51.100.1');
  expect([inAll.status, inAll.error]).toEqual([503, 'service_unavailable']);
  expect(inAll.head).toContain('retry-after: 1\r\n');
  // Its route tells it apart from a service that is away.
  expect(await readFaults(telemetry)).toEqual({
    'turnpike_faults_total{route="unlisted",fault="too_many_requests"}': 1,
    'turnpike_faults_total{route="unlisted",fault="service_unavailable"}': 1,
  });
  await telemetry.shutdown();

  respond = OK;
  for (const res of held) res.end('{}');
  expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([200]));
  for (const address of ['203.0.113.1', '198.51.100.1']) expect((await askFrom(address)).status).toBe(200);
});

it('has nothing on the host of the API, which sends no header of CORS', async () => {
  const edge = await startEdge();
  for (const method of ['GET', 'OPTIONS'])
    for (const target of ['/console/keys', '/v1/models']) {
      const { status, head } = await ask({ method, target }, edge.port);
      expect(head).not.toContain('access-control');
      if (target === '/console/keys') expect(status).toBe(404);
    }
  expect(edge.received.filter(({ req }) => req.url?.startsWith('/console'))).toEqual([]);
  await edge.stop();
});
