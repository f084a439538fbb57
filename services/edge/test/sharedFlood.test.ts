import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { lengthenDeadlines } from '@turnpike/lifecycle/test/lengthenDeadlines';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { type RunningTelemetry, startTelemetry } from '@turnpike/telemetry/startTelemetry';
import { readMetrics } from '@turnpike/test-support/readMetrics';
import { startRedis, type TestRedis } from '@turnpike/test-support/startRedis';
import { until } from '@turnpike/test-support/until';
import type { TestEdge } from './startEdge.ts';

// An exchange that fails is not repeated, so a Redis that a busy machine holds up has eight times as long for it.
lengthenDeadlines(8);
const { startEdge } = await import('./startEdge.ts');

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

interface SharingEdge extends TestEdge {
  /** Resolves once an exchange has succeeded that begins after the call. */
  untilExchanged(): Promise<void>;
}

let edges = 0;
async function openEdge(): Promise<SharingEdge> {
  edges += 1;
  const address = `192.0.2.${edges}`;
  const options = { service: 'edge', scope: 'us', otlpEndpoint: undefined, traceSampleRatio: 0, log } as const;
  const telemetry = startTelemetry(options);
  const edge = await startEdge({ floodLimit, trustedHops: 1, redisUrl: redis.url, log, telemetry });
  return {
    ...edge,
    async untilExchanged() {
      const before = await countExchanges(telemetry);
      await until('an exchange', async () => {
        await statusFor(edge, address);
        // The first one may have begun before.
        return (await countExchanges(telemetry)) > before + 1;
      });
    },
    stop: () => edge.stop().then(() => telemetry.shutdown()),
  };
}

async function countExchanges(telemetry: RunningTelemetry): Promise<number> {
  return (await readMetrics(telemetry)).get('turnpike_throttle_exchanges_total{outcome="done"}') ?? 0;
}

/**
 * Starts two edges that share their limits, as a balancer in front of them has them. The client's address is the one in the header. A slow
 * connection may lose what an edge publishes first, so each has exchanged before.
 */
async function withEdges(run: (one: SharingEdge, other: SharingEdge) => Promise<void>): Promise<void> {
  const opened = [await openEdge(), await openEdge()] as const;
  const [one, other] = opened;
  const prepared = Promise.all([one.untilExchanged(), other.untilExchanged()]);
  await prepared.then(() => run(one, other)).finally(() => Promise.all(opened.map((edge) => edge.stop())));
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
    logged.mockClear();
    redis.freeze();
    try {
      // All are answered while Redis says nothing.
      for (const edge of [one, other]) expect(await sendAll(edge, '203.0.113.4')).toBe(BURST);
      await until('the log to say so', () => logged.mock.calls.length > 0);
      expect(logged.mock.calls.at(-1)?.at(-1)).toContain('limits are not shared');
    } finally {
      redis.thaw();
    }
    await Promise.all([one.untilExchanged(), other.untilExchanged()]);
    expect(await sendAll(one, '203.0.113.5')).toBe(BURST);
    expect(await sendUntilHeard(other, '203.0.113.5')).toBeLessThan(BURST / 2);
  }));
