import { expect, it } from '@jest/globals';
import { anEngine } from '../../test/anEngine.ts';
import { RetryBudget } from '../health/engineHealth.ts';
import { NextAttempt } from './runOnEngines.ts';

const budget = () => new RetryBudget(() => 0);
const [one, two] = [anEngine('one'), anEngine('two')];

it('allows one retry, and never on the engine that failed', () => {
  const next = new NextAttempt(budget());
  expect(next.mayFollow(one, 'reset')).toBe(true);
  expect(next.chooseFrom([one, two])).toEqual([two]);
  expect(next.chooseFrom([one])).toEqual([]);
  expect(next.mayFollow(two, undefined)).toBe(false);
});

it('takes nothing from the budget for a refused connection, nor the first time one breaks before any answer', () => {
  const retries = budget();
  const next = new NextAttempt(retries);
  const before = retries.left;
  expect([next.mayFollow(one, 'refused'), next.mayFollow(two, 'unanswered')]).toEqual([true, true]);
  expect(retries.left).toBe(before);
  expect(next.mayFollow(one, 'unanswered')).toBe(true);
  expect(retries.left).toBe(before - 1);
});

it('lets a call leave an engine that does not answer once, for another one and out of the budget', () => {
  const retries = budget();
  const next = new NextAttempt(retries);
  const before = retries.left;
  expect(next.mayLeave(one, [one])).toBe(false);
  expect(retries.left).toBe(before);
  expect([next.mayLeave(one, [one, two]), next.mayFollow(one, 'left_out')]).toEqual([true, true]);
  expect(retries.left).toBe(before - 1);
  expect(next.mayLeave(two, [one])).toBe(false);
  expect(next.mayLeave(two, [anEngine('three')])).toBe(false);
});

it('goes to another engine rather than back to where the connection broke', () => {
  const next = new NextAttempt(budget());
  next.mayFollow(one, 'unanswered');
  expect(next.chooseFrom([one, two])).toEqual([two]);
  expect(next.chooseFrom([one])).toEqual([one]);
});

it('asks no more than four engines that refuse', () => {
  const next = new NextAttempt(budget());
  const follows = ['a', 'b', 'c', 'd'].map((id) => next.mayFollow(anEngine(id), 'refused'));
  expect(follows).toEqual([true, true, true, false]);
});

it('retries nothing once the budget is spent', () => {
  const retries = budget();
  while (retries.left > 0) retries.take();
  expect(new NextAttempt(retries).mayFollow(one, 'reset')).toBe(false);
  expect(new NextAttempt(retries).mayLeave(one, [two])).toBe(false);
});
