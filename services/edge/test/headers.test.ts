import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { verifyClientAddress } from '@turnpike/internal-auth/clientAddress';
import { sendTarget } from './sendRaw.ts';
import { fleet, startEdge, type TestEdge } from './startEdge.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge({
    upstreams: {
      catalog(req, res) {
        res.writeHead(200, {
          'content-type': 'application/json',
          server: 'inner/1.0',
          'x-powered-by': 'engine',
          via: '1.1 inner',
          'x-upstream-address': '10.0.0.7',
          'x-request-id': 'inner',
          'access-control-allow-origin': '*',
          'x-router-call-id': 'call-1',
          'x-ratelimit-remaining-requests': '7',
          'retry-after': '3',
        });
        res.end(JSON.stringify(req.headers));
      },
    },
  });
});
afterAll(() => edge.stop());

it('passes on only what services need, and says by itself who called', async () => {
  const forged = [
    'x-turnpike-internal: v1.k1.router.auth.9999999999999.x',
    'x-turnpike-client: k1|203.0.113.1|9999999999999|x',
    'X-Turnpike_Client: k1|203.0.113.1|9999999999999|x',
    'x_turnpike_client: k1|203.0.113.1|9999999999999|x',
    'X-Request-Id: mine',
    'x-router-call-id: mine',
    'x-forwarded-for: 203.0.113.1',
    'x-forwarded-host: elsewhere.example',
    'x-real-ip: 203.0.113.1',
    'x-stainless-os: Linux',
    'forwarded: for=203.0.113.1',
    'via: 1.1 elsewhere',
    'cf-connecting-ip: 203.0.113.1',
    'cookie: session=1',
    'te: trailers',
    'keep-alive: timeout=1',
    'upgrade: h2c',
    'expect: 100-continue',
  ];
  const passed = [
    'authorization: Bearer sk-abc',
    'accept: application/json',
    'user-agent: test',
    'Connection: authorization',
  ];
  await sendTarget(edge.port, { target: '/v1/models', headers: [...forged, ...passed] });

  const received = edge.received.at(-1)?.req.headers ?? {};
  const { 'x-turnpike-client': client, 'x-request-id': requestId, ...rest } = received;
  expect(rest).toEqual({
    host: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
    authorization: 'Bearer sk-abc',
    accept: 'application/json',
    'user-agent': 'test',
    connection: 'keep-alive',
  });
  expect(verifyClientAddress(client, { keys: fleet.publicKeys })).toBe('127.0.0.1');
  expect(requestId).toMatch(UUID_V7);
});

it('shows clients nothing that services say about themselves', async () => {
  const response = await fetch(`${edge.url}/v1/models`, { headers: { 'x-request-id': 'mine' } });

  const { date, 'x-request-id': requestId, ...rest } = Object.fromEntries(response.headers);
  expect(rest).toEqual({
    'content-type': 'application/json',
    'transfer-encoding': 'chunked',
    connection: 'keep-alive',
    'x-router-call-id': 'call-1',
    'x-ratelimit-remaining-requests': '7',
    'retry-after': '3',
  });
  expect(date).toBeDefined();
  expect(requestId).toMatch(UUID_V7);
  expect(edge.received.at(-1)?.req.headers['x-request-id']).toBe(requestId);
});

it.each(['/v1/nothing', '/v1/files', '/v1/chat/completions'])(
  'names its own answer to GET %s by a request id',
  async (path) => {
    const response = await fetch(edge.url + path);
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.headers.get('x-request-id')).toMatch(UUID_V7);
    expect(response.headers.get('x-powered-by')).toBeNull();
  },
);

it('refuses a hundred headers and more', async () => {
  const before = edge.received.length;
  const fillers = Array.from({ length: 150 }, (_, i) => `h${i}: 1`);
  const { status } = await sendTarget(edge.port, { target: '/v1/models', headers: fillers });
  expect(status).toBe(400);
  expect(edge.received).toHaveLength(before);
});

it('refuses too many headers while a chunked body is being sent, and takes the rest of the body', async () => {
  const fillers = Array.from({ length: 150 }, (_, i) => [`h${i}`, '1']);
  const headers = { ...Object.fromEntries(fillers), 'transfer-encoding': 'chunked' };
  const agent = new Agent({ keepAlive: true });
  const call = request(`${edge.url}/v1/chat/completions`, { method: 'POST', headers, agent });
  call.write('one half, ');
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(400);
  expect(response.headers.connection).toBe('keep-alive');
  expect(JSON.parse(await text(response))).toMatchObject({ error: { type: 'invalid_request_error' } });
  // Its end is read too: a connection that had been closed could not take another request.
  call.end('the other');
  await once(agent, 'free');
  agent.destroy();
});

it('keeps connections to services open, whatever clients do with theirs', async () => {
  const sockets = new Set();
  for (let i = 0; i < 5; i += 1) {
    await sendTarget(edge.port, { target: '/v1/svc/key' });
    sockets.add(edge.received.at(-1)?.req.socket);
  }
  // One, unless the machine stood still for as long as idle ones are kept.
  expect(sockets.size).toBeLessThan(5);
});

it('closes the connection of a client that asked for it', async () => {
  const { head } = await sendTarget(edge.port, { target: '/v1/models' });
  expect(head.toLowerCase()).toContain('\r\nconnection: close');
});
