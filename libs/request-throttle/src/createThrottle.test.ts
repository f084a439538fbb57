import { expect, it } from '@jest/globals';
import { createThrottle } from './createThrottle.ts';

function throttleAt(clock: { ms: number }, options: { requestsPerMinute: number; burst: number; maxNames?: number }) {
  return createThrottle({ maxNames: 100, ...options, now: () => clock.ms });
}

function takeUntilRefused(throttle: ReturnType<typeof createThrottle>, name: string): number {
  let taken = 0;
  while (throttle.takeRequest(name).isAllowed) taken += 1;
  return taken;
}

it.each([
  [6_000, 1_000],
  [7_000, 1_000],
  [120, 120],
  [60, 1],
])('allows at %i a minute exactly the burst of %i at once, then refills evenly', (requestsPerMinute, burst) => {
  const clock = { ms: 0 };
  const throttle = throttleAt(clock, { requestsPerMinute, burst });

  expect(takeUntilRefused(throttle, 'a')).toBe(burst);
  const { waitMs } = throttle.takeRequest('a');
  expect(waitMs).toBeCloseTo(60_000 / requestsPerMinute);
  clock.ms += waitMs - 0.01;
  expect(throttle.takeRequest('a').isAllowed).toBe(false);
  clock.ms += 0.01;
  expect(takeUntilRefused(throttle, 'a')).toBe(1);
  clock.ms += 600_000;
  expect(takeUntilRefused(throttle, 'a')).toBe(burst);
});

it('allows as many again as were given back, and no more than the burst', () => {
  const clock = { ms: 0 };
  const throttle = throttleAt(clock, { requestsPerMinute: 60, burst: 3 });
  expect(takeUntilRefused(throttle, 'a')).toBe(3);
  throttle.giveBack('a');
  expect(takeUntilRefused(throttle, 'a')).toBe(1);
  clock.ms += 600_000;
  throttle.giveBack('a');
  throttle.giveBack('b');
  expect(takeUntilRefused(throttle, 'a')).toBe(3);
  expect(takeUntilRefused(throttle, 'b')).toBe(3);
});

it('counts each name for itself', () => {
  const throttle = throttleAt({ ms: 5 }, { requestsPerMinute: 60, burst: 2 });
  expect(takeUntilRefused(throttle, 'a')).toBe(2);
  expect(takeUntilRefused(throttle, 'b')).toBe(2);
});

it('forgets the name longest unseen when it remembers too many', () => {
  const throttle = throttleAt({ ms: 0 }, { requestsPerMinute: 60, burst: 1, maxNames: 2 });
  for (const name of ['a', 'b', 'c']) throttle.takeRequest(name);
  expect(throttle.takeRequest('c').isAllowed).toBe(false);
  expect(throttle.takeRequest('a').isAllowed).toBe(true);
});
