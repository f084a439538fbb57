import { expect, it } from '@jest/globals';
import { parseSuiteArguments } from './parseSuiteArguments.ts';

it('reads cells, a seed and what is only to be shown', () => {
  expect(parseSuiteArguments(['hpa', 'ready', '--seed', '7'])).toEqual({
    cells: ['hpa', 'ready'],
    seed: 7,
    list: false,
    help: false,
  });
  expect(parseSuiteArguments(['--list'])).toMatchObject({ cells: [], seed: 1, list: true });
});

it.each([
  [['--seed', 'x'], '--seed is "x", but it has to be a whole number from 0 to 4294967295.'],
  [['--seeds', '7'], "Unknown option '--seeds'"],
])('refuses %j in one line', (args, words) => {
  expect(() => parseSuiteArguments(args)).toThrow(words);
  expect(() => parseSuiteArguments(args)).toThrow(/^[^\n]+$/);
});
