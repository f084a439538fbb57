import { expect, it } from '@jest/globals';
import { createByteBudget } from './byteBudget.ts';

it('is shared by all calls, and a call gives back what it took', () => {
  const budget = createByteBudget(100);
  const [first, second] = [budget.open(), budget.open()];
  expect(first.take(60)).toBe(true);
  expect(second.take(41)).toBe(false);
  expect(second.take(40)).toBe(true);
  expect(first.take(1)).toBe(false);
  first.close();
  first.close();
  expect(second.take(60)).toBe(true);
  expect(second.take(1)).toBe(false);
});
