import { expect, it } from '@jest/globals';
import { verifyClientAddress } from '@turnpike/internal-auth/clientAddress';
import { fleet, startEdge, type TestEdge, type TestEdgeOptions } from './startEdge.ts';

// One request a minute after the burst, so that nothing refills while a test runs.
const floodLimit = { requestsPerMinute: 1, burst: 3 };

async function withEdge(options: TestEdgeOptions, run: (edge: TestEdge) => Promise<void>): Promise<void> {
  const edge = await startEdge({ floodLimit, ...options });
  await run(edge).finally(() => edge.stop());
}

const statusFor = async (edge: TestEdge, forwardedFor: string, path = '/v1/svc/key'): Promise<number> =>
  (await fetch(edge.url + path, { headers: { 'x-forwarded-for': forwardedFor } })).status;

it('above the flood limit of a source IP: 429 with x-ratelimit-reset alone, and nothing reaches a service', () =>
  withEdge({}, async (edge) => {
    for (let i = 0; i < 3; i += 1) expect((await fetch(`${edge.url}/v1/svc/key`)).status).toBe(200);
    const response = await fetch(`${edge.url}/v1/svc/key`);

    expect(response.status).toBe(429);
    expect(response.headers.get('x-ratelimit-reset')).toMatch(/^([3-5]\d|60)$/);
    const limits = [...response.headers.keys()].filter((name) => /^x-ratelimit|^retry-after/.test(name));
    expect(limits).toEqual(['x-ratelimit-reset']);
    const message = `Rate limit reached: 1 requests per minute for this address. Retry in ${response.headers.get('x-ratelimit-reset')} s.`;
    expect(response.headers.get('x-error-message')).toBe(message);
    expect(await response.json()).toEqual({
      error: { message, type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' },
    });
    expect(edge.received).toHaveLength(3);
  }));

it('the flood limit stands before the list of paths', () =>
  withEdge({}, async (edge) => {
    for (let i = 0; i < 3; i += 1) expect(await statusFor(edge, '', '/nothing')).toBe(404);
    expect(await statusFor(edge, '', '/nothing')).toBe(429);
  }));

it('without proxies in front, X-Forwarded-For changes nothing', () =>
  withEdge({ trustedHops: 0 }, async (edge) => {
    const statuses = [];
    for (let i = 1; i <= 4; i += 1) statuses.push(await statusFor(edge, `203.0.113.${i}`));
    expect(statuses).toEqual([200, 200, 200, 429]);
  }));

it('behind a proxy, only the address that proxy wrote counts', () =>
  withEdge({ trustedHops: 1 }, async (edge) => {
    const statuses = [];
    for (let i = 1; i <= 4; i += 1) statuses.push(await statusFor(edge, `203.0.113.${i}, 198.51.100.1`));
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect(await statusFor(edge, '203.0.113.1, 198.51.100.2')).toBe(200);
    const vouchedFor = edge.received.at(-1)?.req.headers['x-turnpike-client'];
    expect(verifyClientAddress(vouchedFor, { keys: fleet.publicKeys })).toBe('198.51.100.2');
  }));

it('behind two proxies, the second entry from the right counts', () =>
  withEdge({ trustedHops: 2 }, async (edge) => {
    const statuses = [];
    for (let i = 1; i <= 4; i += 1) statuses.push(await statusFor(edge, `203.0.113.9, 198.51.100.1, 10.0.0.${i}`));
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect(await statusFor(edge, '198.51.100.1, 198.51.100.2, 10.0.0.1')).toBe(200);
  }));

it.each(['', 'unknown', '198.51.100.1:443', '203.0.113.1, '])(
  'an entry that is no address ("%s") counts as the proxy itself',
  (entry) =>
    withEdge({ trustedHops: 1 }, async (edge) => {
      const statuses = [];
      for (let i = 1; i <= 4; i += 1) statuses.push(await statusFor(edge, entry));
      expect(statuses).toEqual([200, 200, 200, 429]);
    }),
);

it('counts an IPv6 /64 as one source', () =>
  withEdge({ trustedHops: 1 }, async (edge) => {
    const statuses = [];
    for (let i = 1; i <= 4; i += 1) statuses.push(await statusFor(edge, `2001:db8:1:2::${i}`));
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect(await statusFor(edge, '2001:db8:1:3::1')).toBe(200);
  }));
