import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startEdge, type TestEdge } from './startEdge.ts';

let edge: TestEdge;
beforeAll(async () => {
  edge = await startEdge({
    upstreams: { auth: 'down', catalog: 'down', 'model-router': 'down', 'usage-ledger': 'down' },
  });
});
afterAll(() => edge.stop());

it.each(['/v1/chat/completions', '/v1/completions', '/v1/embeddings'])(
  'POST %s answers 503 that may be retried when the router cannot be reached',
  async (path) => {
    const response = await fetch(edge.url + path, { method: 'POST', body: '{}' });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(response.headers.has('x-should-retry')).toBe(false);
    expect(await response.json()).toEqual({
      error: { message: expect.any(String), type: 'service_unavailable', param: null, code: 'service_unavailable' },
    });
  },
);

it.each(['/v1/models', '/v1/models/some-model', '/v1/svc/key'])(
  'GET %s answers a bare 502 when its service cannot be reached',
  async (path) => {
    const response = await fetch(edge.url + path);
    expect(response.status).toBe(502);
    expect(await response.json()).toEqual({ detail: 'upstream router unavailable' });
  },
);

it.each(['/v1/svc/usage', '/v1/svc/usage/request/abc'])(
  'GET %s answers a flat 503 when the ledger cannot be reached',
  async (path) => {
    const response = await fetch(edge.url + path);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await response.json()).toEqual({ error: 'service_unavailable', message: expect.any(String) });
  },
);

it('a call the router may have begun when it died is not offered for retry', async () => {
  const dying = await startEdge({ upstreams: { 'model-router': (req) => req.socket.destroy() } });
  const response = await fetch(`${dying.url}/v1/chat/completions`, { method: 'POST', body: '{}' });
  expect(response.status).toBe(503);
  expect(response.headers.get('x-should-retry')).toBe('false');
  expect(dying.received).toHaveLength(1);
  await dying.stop();
});
