import { expect, it } from '@jest/globals';
import { parseQuantity } from './parseQuantity.ts';

it.each([
  ['12', 12],
  ['350m', 0.35],
  ['143m', 0.143],
  ['0', 0],
  ['2k', 2_000],
  ['1200M', 1.2e9],
])('reads %s', (text, value) => {
  expect(parseQuantity(text)).toBe(value);
});

it.each(['', '12 apples', '3Q'])('refuses "%s"', (text) => {
  expect(() => parseQuantity(text)).toThrow('is no quantity');
});
