import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { searchOf } from '@turnpike/test-support/searchOf';
import fc from 'fast-check';
import { openSimulatedRedis, type SimulatedRedis } from '../test/openSimulatedRedis.ts';
import { type Decided, type Simulation, simulateReplicas } from '../test/simulateReplicas.ts';
import { createThrottle } from './createThrottle.ts';

const PAUSE_MS = 250;

let redis: SimulatedRedis;
beforeAll(async () => {
  redis = await openSimulatedRedis();
});
beforeEach(() => redis.flush());
afterAll(() => redis.close());

/** The same numbers for the same seed, from 0 to 1 (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const LIMITS = [
  { requestsPerMinute: 6_000, burst: 1_000 },
  { requestsPerMinute: 120, burst: 120 },
  { requestsPerMinute: 7_000, burst: 50 },
];

const simulations = ({ minReplicas = 1, maxReplicas = 8, failing = 0 }) =>
  fc
    .record({
      replicas: fc.integer({ min: minReplicas, max: maxReplicas }),
      limit: fc.constantFrom(...LIMITS),
      lagMs: fc.constantFrom(0.2, 20, 120),
      seed: fc.integer(),
      phases: fc.array(
        fc.record({
          lengthMs: fc.integer({ min: 10, max: 4_000 }),
          // Multiples of the limit's own rate.
          pace: fc.constantFrom(0.3, 0.9, 1.3, 3, 20),
          spread: fc.integer({ min: 1, max: maxReplicas }),
          first: fc.nat(maxReplicas),
        }),
        { minLength: 1, maxLength: 8 },
      ),
    })
    .map(
      ({ seed, phases, ...rest }): Simulation => ({
        ...rest,
        failing,
        random: createRandom(seed),
        phases: phases.map(({ lengthMs, pace, spread, first }) => ({
          lengthMs,
          perSecond: (pace * rest.limit.requestsPerMinute) / 60,
          replicas: Array.from({ length: spread }, (_, nth) => (first + nth) % rest.replicas),
        })),
      }),
    );

/** The most that one replica lets through in two exchanges. */
function mostUnheard(decided: Decided[], exchangesMs: number): number {
  let most = 0;
  for (const replica of new Set(decided.map((one) => one.replica))) {
    const times = decided.filter((one) => one.isAllowed && one.replica === replica).map(({ atMs }) => atMs);
    let first = 0;
    for (const [nth, atMs] of times.entries()) {
      while ((times[first] as number) < atMs - exchangesMs) first += 1;
      most = Math.max(most, nth - first + 1);
    }
  }
  return most;
}

it('lets through no more than one counter would, but for what others let through in two exchanges and a part of a burst', async () => {
  let largest = 0;
  await fc.assert(
    fc.asyncProperty(simulations({}), async (simulation) => {
      await redis.flush();
      const { replicas, limit, lagMs } = simulation;
      const decided = await simulateReplicas(redis, simulation);
      const exchangeMs = PAUSE_MS + 4 * lagMs;
      const unheard = (replicas - 1) * mostUnheard(decided, 2 * exchangeMs);
      const untold = replicas * Math.ceil(limit.burst / 100);
      const refilled = (exchangeMs * limit.requestsPerMinute) / 60_000;
      const excess = Math.max(...decided.filter(({ isAllowed }) => isAllowed).map((one) => one.excess), 0);
      largest = Math.max(largest, excess);
      expect(excess).toBeLessThanOrEqual(replicas === 1 ? 1e-3 : unheard + untold + refilled);
    }),
    searchOf(60),
  );
  expect(largest).toBeGreaterThan(10);
});

it('refuses nobody whom one counter would let in, also where exchanges fail', async () => {
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(simulations({ failing: 0.3 }), async (simulation) => {
      await redis.flush();
      const decided = await simulateReplicas(redis, simulation);
      for (const { isAllowed, excess } of decided) {
        if (isAllowed) continue;
        refused += 1;
        // The clocks are exact to a microsecond, which is far from a request.
        expect(excess).toBeGreaterThan(-1e-3);
      }
    }),
    searchOf(40),
  );
  expect(refused).toBeGreaterThan(1_000);
});

it('one replica alone decides as if it shared with nobody', async () => {
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(simulations({ maxReplicas: 1, failing: 0.1 }), async (simulation) => {
      await redis.flush();
      const decided = await simulateReplicas(redis, simulation);
      let nowMs = 0;
      const alone = createThrottle({ ...simulation.limit, maxNames: 10, now: () => nowMs });
      for (const { atMs, isAllowed } of decided) {
        nowMs = atMs;
        if (!isAllowed) refused += 1;
        expect(alone.takeRequest('a').isAllowed).toBe(isAllowed);
      }
    }),
    searchOf(40),
  );
  expect(refused).toBeGreaterThan(1_000);
});

it.each([2, 8])('a minute of a flood over %i replicas lets through the limit once', async (replicas) => {
  const all = Array.from({ length: replicas }, (_, nth) => nth);
  const decided = await simulateReplicas(redis, {
    replicas,
    limit: { requestsPerMinute: 6_000, burst: 1_000 },
    phases: [{ lengthMs: 60_000, perSecond: 1_000, replicas: all }],
    lagMs: 2,
    failing: 0,
    random: createRandom(7),
  });
  const allowed = decided.filter(({ isAllowed }) => isAllowed).length;
  expect(allowed).toBeGreaterThan(6_950);
  // The bound: two exchanges at 1,000 a second, and a hundredth of a burst for each replica.
  expect(allowed).toBeLessThan(7_000 + 510 + replicas * 10);
});
