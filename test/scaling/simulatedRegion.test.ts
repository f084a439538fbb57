import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ConnectionPool, PodGroup } from '../../bench/scaling/connectionPool.ts';
import { LOOP_SHARE, MACHINES } from '../../bench/scaling/costs.ts';
import { EventQueue } from '../../bench/scaling/eventQueue.ts';
import { type Load, WHOLE_ANSWERS } from '../../bench/scaling/load.ts';
import { coresOf } from '../../bench/scaling/planPods.ts';
import { simulateKnownQueues } from '../../bench/scaling/simulateKnownQueues.ts';
import { type RegionOptions, simulateRegion } from '../../bench/scaling/simulateRegion.ts';
import { simulateRollout } from '../../bench/scaling/simulateRollout.ts';
import { Waits } from '../../bench/scaling/waits.ts';
import { seededRandom } from '../../bench/seededRandom.ts';

const [costs] = MACHINES as [(typeof MACHINES)[number]];
/** A second of them is little work for a test. */
const FEW_STREAMS: Load = { name: 'streams', callsPerSecond: 200, chunks: 50, everySeconds: 0.02 };
const region = (options: Partial<RegionOptions>) =>
  simulateRegion({ seed: 1, costs, load: FEW_STREAMS, pods: { edge: 2, router: 3 }, seconds: 3, ...options });
const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

it.each([0.3, 0.6])('a server that is %s busy has its work wait for as long as theory says', (busy) => {
  for (const { known, simulated } of simulateKnownQueues({ seed: 1, busy, customers: 100_000 })) {
    expect(simulated / known).toBeGreaterThan(0.95);
    expect(simulated / known).toBeLessThan(1.05);
  }
});

it('has equal figures for equal seeds, and others for others', () => {
  const [first, again, other] = [1, 1, 2].map((seed) => region({ seed, seconds: 0.5 }));
  expect(again).toEqual(first);
  expect(other).not.toEqual(first);
});

it.each([
  ['short streams', { ...FEW_STREAMS, callsPerSecond: 2_000, chunks: 10 }],
  ['whole answers', WHOLE_ANSWERS],
])('gives loops the work that the arithmetic of the page comes to, with %s', (_what, load) => {
  // Bursts of fifty make the number of calls vary: over so long by a part in forty.
  const { edge, router } = region({ load, seconds: 5 });
  expect(meanOf(edge.busy) / ((coresOf(costs.edge, load) * LOOP_SHARE) / 2)).toBeCloseTo(1, 1);
  expect(meanOf(router.busy) / ((coresOf(costs.router, load) * LOOP_SHARE) / 3)).toBeCloseTo(1, 1);
});

it('tells of pods that are too few', () => {
  const enough = region({ load: WHOLE_ANSWERS });
  const tooFew = region({ load: { ...WHOLE_ANSWERS, callsPerSecond: 20_000 }, seconds: 1 });
  expect(Math.max(...enough.router.busy)).toBeLessThan(0.6);
  expect(enough.waits.percentile(0.99)).toBeLessThan(0.01);
  expect(Math.min(...tooFew.router.busy)).toBeGreaterThan(1);
  expect(tooFew.waits.percentile(0.99)).toBeGreaterThan(0.1);
});

it('has fewer streams on a router that has just come back than on the others', () => {
  const { before, after } = simulateRollout({ seed: 1, load: FEW_STREAMS, edges: 2, routers: 4, secondsAfter: 60 });
  expect(before.least).toBeGreaterThan(0.5);
  expect(after[0]?.least).toBeLessThan(0.2);
  expect(after[60]?.least).toBeGreaterThan(after[0]?.least ?? Number.NaN);
});

it('lets everything happen in its order, and nothing from a moment on', () => {
  const instants = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 200 });
  fc.assert(
    fc.property(instants, fc.double({ min: 0, max: 1, noNaN: true }), (all, until) => {
      const queue = new EventQueue<number>();
      for (const at of all) queue.add(at, at);
      const taken: number[] = [];
      while (queue.takeBefore(until, (at, event) => void taken.push(at === event ? at : Number.NaN)));
      expect(taken).toEqual(all.filter((at) => at < until).sort((a, b) => a - b));
    }),
  );
});

it('reads percentiles to two parts in a hundred', () => {
  const waits = new Waits();
  for (let count = 1; count <= 10_000; count += 1) waits.add(count * 1e-5);
  for (const part of [0.01, 0.5, 0.99]) expect(waits.percentile(part) / (part * 0.1)).toBeCloseTo(1, 1);
  expect(waits.mean).toBeCloseTo(0.05, 3);
});

it('takes the connection that was used last, unless it was idle for too long or its pod has gone', () => {
  const group = new PodGroup(20, seededRandom(1));
  const pool = new ConnectionPool(group, { idleSeconds: 3, random: seededRandom(2) });
  const [first, second] = [pool.take(0), pool.take(0)];
  pool.release(first, 1);
  pool.release(second, 2);
  expect(pool.take(3)).toBe(second);
  expect(pool.take(4.5)).not.toBe(first);
  pool.release(second, 5);
  group.leave(second.pod);
  expect(pool.take(5).pod).not.toBe(second.pod);
});

it('uses a connection for as long as it may, and for half of that at least', () => {
  const pool = new ConnectionPool(new PodGroup(20, seededRandom(1)), {
    idleSeconds: 100,
    maxAgeSeconds: 60,
    random: seededRandom(2),
  });
  const connection = pool.take(0);
  pool.release(connection, 29);
  expect(pool.take(29)).toBe(connection);
  pool.release(connection, 60);
  expect(pool.take(60)).not.toBe(connection);
});
