import { describe, expect, it } from '@jest/globals';
import { MEDIA_BILLING_UNITS } from '@turnpike/public-api/modality';
import fc from 'fast-check';
import { parsePrice } from './price.ts';
import { computeUnitCharge, toUnitsConsumed } from './unitPrice.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_122 });

const price = fc.bigInt({ min: 0n, max: 10n ** 20n });
const units = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const billingUnit = fc.constantFrom(...MEDIA_BILLING_UNITS);

/** Nano-dollars as a fraction: attodollars of what was counted over this. */
const divisorOf = (unit: string): bigint => (unit === 'minute' ? 60n : 1n) * 10n ** 9n;

describe('a charge of counted units', () => {
  it.each([
    [3, 'image', '0.04', 120_000_000n],
    [5, 'second', '0.1', 500_000_000n],
    [4_096, 'character', '0.000015', 61_440_000n],
    // A character costs 0.4 nano-dollars: rounded each, a thousand would cost nothing.
    [1_000, 'character', '0.0000000004', 400n],
    [60, 'minute', '0.006', 6_000_000n],
    [61, 'minute', '0.006', 6_100_000n],
    // A second of it costs 33.3… nano-dollars: divided first, an hour would cost less than 60 minutes.
    [1, 'minute', '0.000002', 33n],
    [3_600, 'minute', '0.000002', 120_000n],
    [0, 'minute', '9', 0n],
  ] as const)('%i counted by the %s at $%s are %s nano-dollars', (count, unit, text, charge) => {
    expect(computeUnitCharge(count, { billingUnit: unit, price: parsePrice(text) })).toBe(charge);
  });

  it('is the nearest nano-dollar to the exact product, and the higher of two that are equally near', () => {
    fc.assert(
      fc.property(units, billingUnit, price, (count, unit, own) => {
        const charge = computeUnitCharge(count, { billingUnit: unit, price: own });
        const twiceOver = 2n * (charge * divisorOf(unit) - BigInt(count) * own);
        expect(-divisorOf(unit) < twiceOver && twiceOver <= divisorOf(unit)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('never falls as more is counted or as the price rises: a hold of the most there can be covers it', () => {
    fc.assert(
      fc.property(units, units, billingUnit, price, price, (one, other, unit, ownPrice, otherPrice) => {
        const [fewer, more] = one < other ? [one, other] : [other, one];
        const [cheaper, dearer] = ownPrice < otherPrice ? [ownPrice, otherPrice] : [otherPrice, ownPrice];
        const charge = computeUnitCharge(fewer, { billingUnit: unit, price: cheaper });
        expect(charge <= computeUnitCharge(more, { billingUnit: unit, price: dearer })).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('of whole minutes by the minute is that of as many units at the same price', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100_000 }), price, (minutes, own) => {
        const charge = computeUnitCharge(minutes * 60, { billingUnit: 'minute', price: own });
        expect(charge).toBe(computeUnitCharge(minutes, { billingUnit: 'image', price: own }));
      }),
    );
  });

  it('of a call cut in parts differs from that of the whole by the rounding of its parts alone', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(100_000), { minLength: 1, maxLength: 9 }), billingUnit, price, (parts, unit, own) => {
        const of = (count: number) => computeUnitCharge(count, { billingUnit: unit, price: own });
        const whole = of(parts.reduce((sum, part) => sum + part, 0));
        const apart = parts.reduce((sum, part) => sum + of(part), 0n) - whole;
        expect((apart < 0n ? -apart : apart) <= BigInt(parts.length)).toBe(true);
      }),
    );
  });
});

it('shows what was counted in the unit that is priced', () => {
  expect(toUnitsConsumed(90n, 'minute')).toBe(1.5);
  expect(toUnitsConsumed(90n, 'second')).toBe(90);
});
