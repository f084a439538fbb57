import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { RetryBudget } from './engineHealth.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

it('allows a few retries however few calls there are', () => {
  const budget = new RetryBudget(() => 0);
  budget.callBegan();
  expect(Array.from({ length: 12 }, () => budget.take()).filter(Boolean)).toHaveLength(10);
});

it('allows one in ten of many calls, and forgets them after 30 s', () => {
  let nowMs = 0;
  const budget = new RetryBudget(() => nowMs);
  for (let call = 0; call < 1_000; call += 1) budget.callBegan();
  expect(budget.left).toBe(100);
  while (budget.take());
  nowMs = 29_999;
  expect(budget.left).toBe(0);
  nowMs = 30_000;
  expect(budget.left).toBe(10);
});

it('never allows more than a tenth of the last 30 s, or ten, at any moment', () => {
  const step = fc.record({ ms: fc.integer({ min: 0, max: 5_000 }), isRetry: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 500 }), (steps) => {
      let nowMs = 0;
      const budget = new RetryBudget(() => nowMs);
      const calls: number[] = [];
      const retries: number[] = [];
      for (const { ms, isRetry } of steps) {
        nowMs += ms;
        calls.push(nowMs);
        budget.callBegan();
        if (isRetry && budget.take()) retries.push(nowMs);
        // Counted in whole seconds, so what is just 30 s old may already be forgotten.
        const within = (times: number[], windowMs: number) => times.filter((at) => at > nowMs - windowMs).length;
        expect(within(retries, 29_000)).toBeLessThanOrEqual(Math.max(10, within(calls, 60_000) / 10));
      }
    }),
  );
});
