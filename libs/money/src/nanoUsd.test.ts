import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nanoUsdSchema, nonNegativeNanoUsdSchema, parseUsd, toUsdNumber, toUsdText } from './nanoUsd.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

it.each([
  [0n, '0', 0],
  [1n, '0.000000001', 1e-9],
  [1_500_000_000n, '1.5', 1.5],
  [-250_000_000n, '-0.25', -0.25],
  [9_007_199_254_740_993n, '9007199.254740993', 9_007_199.254740993],
])('%s nano-dollars are shown as %s', (amount, text, number) => {
  expect(toUsdText(amount)).toBe(text);
  expect(toUsdNumber(amount)).toBe(number);
});

it('survives being printed as dollars and read again', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 17n }), (amount) => {
      expect(parseUsd(toUsdText(amount))).toBe(amount);
    }),
  );
});

it.each(['', '-1', '1e3', '1.', '.5', '0.0000000001', '1,5', 'abc'])('refuses "%s" as dollars', (text) => {
  expect(() => parseUsd(text)).toThrow(/is not a dollar amount/);
});

it('travels as a decimal text, never as a number', () => {
  expect(nanoUsdSchema.parse('-9007199254740993')).toBe(-9_007_199_254_740_993n);
  expect(nanoUsdSchema.safeParse(5).success).toBe(false);
  expect(nanoUsdSchema.safeParse('1.5').success).toBe(false);
  expect(nonNegativeNanoUsdSchema.safeParse('-1').success).toBe(false);
});
