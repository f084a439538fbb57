import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { startRedis, type TestRedis } from '@turnpike/test-support/startRedis';
import { until } from '@turnpike/test-support/until';
import { startEdge, type TestEdge } from './startEdge.ts';

// One request a minute after the burst, so that nothing refills while a test runs.
const BURST = 200;
const floodLimit = { requestsPerMinute: 1, burst: BURST };
/** An edge tells of an address once it let through so many of its requests. */
const UNTOLD = BURST / 100;

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const log = aSilentLogger();
const logged = jest.spyOn(log, 'error');

/** Two edges, as a balancer in front of them has them: the client's address is what it says. */
async function withEdges(run: (one: TestEdge, other: TestEdge) => Promise<void>): Promise<void> {
  const options = { floodLimit, trustedHops: 1, redisUrl: redis.url, log };
  const edges = [await startEdge(options), await startEdge(options)] as const;
  await run(...edges).finally(() => Promise.all(edges.map((edge) => edge.stop())));
}

const statusFor = async ({ url }: TestEdge, address: string): Promise<number> =>
  (await fetch(`${url}/v1/svc/key`, { headers: { 'x-forwarded-for': address } })).status;

/** Sends one request after another until one is refused, and says how many were not. */
async function sendAll(edge: TestEdge, address: string): Promise<number> {
  for (let passed = 0; ; passed += 1) if ((await statusFor(edge, address)) !== 200) return passed;
}

/** Sends to an edge, at a pace that alone it would bear for long, until it refuses. */
async function sendUntilHeard(edge: TestEdge, address: string): Promise<number> {
  let passed = 0;
  await until('the edge to have heard of the other', async () => {
    const status = await statusFor(edge, address);
    if (status === 200) passed += 1;
    return status === 429;
  });
  return passed;
}

it('two edges let one address through as often as one edge would, but for what one of them has not heard of', () =>
  withEdges(async (one, other) => {
    expect(await sendAll(one, '203.0.113.1')).toBe(BURST);
    // Until its first exchange after the other's: some 25 at this pace, on a busy machine twice as many.
    expect(await sendUntilHeard(other, '203.0.113.1')).toBeLessThan(BURST / 2);
    for (const edge of [one, other]) {
      const response = await fetch(`${edge.url}/v1/svc/key`, { headers: { 'x-forwarded-for': '203.0.113.1' } });
      expect(response.status).toBe(429);
      expect(response.headers.get('x-ratelimit-reset')).toMatch(/^\d+$/);
      expect(response.headers.get('retry-after')).toBe(null);
    }
    expect(await statusFor(other, '203.0.113.2')).toBe(200);
  }));

it('a client that goes from edge to edge gets no more than it would from one', () =>
  withEdges(async (one, other) => {
    let passed = 0;
    const refusing = new Set<TestEdge>();
    await until('both to refuse', async () => {
      for (const edge of [one, other]) {
        const status = await statusFor(edge, '203.0.113.3');
        if (status === 200) passed += 1;
        else refusing.add(edge);
      }
      return refusing.size === 2;
    });
    expect(passed).toBeGreaterThanOrEqual(BURST);
    // An edge lets some 25 requests through in two exchanges at this pace, and `UNTOLD` more that it never announces.
    expect(passed).toBeLessThan(BURST * 1.5 + 2 * UNTOLD);
  }));

it('without Redis no request waits and none is refused, each edge keeps the limit by itself, and later they share it again', () =>
  withEdges(async (one, other) => {
    redis.freeze();
    try {
      // All are answered while Redis says nothing.
      for (const edge of [one, other]) expect(await sendAll(edge, '203.0.113.4')).toBe(BURST);
      await until('the log to say so', () => logged.mock.calls.length > 0);
      expect(logged.mock.calls.at(-1)?.at(-1)).toContain('limits are not shared');
    } finally {
      redis.thaw();
    }
    let round = 0;
    await until('them to share it again', async () => {
      round += 1;
      const address = `198.51.100.${round}`;
      await sendAll(one, address);
      return (await sendUntilHeard(other, address)) < BURST / 2;
    });
  }));
