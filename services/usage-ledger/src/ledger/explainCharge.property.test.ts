import { expect, it } from '@jest/globals';
import { ATTO_PER_NANO, computeCharge } from '@turnpike/money/price';
import { computeUnitCharge } from '@turnpike/money/unitPrice';
import { MEDIA_BILLING_UNITS } from '@turnpike/public-api/modality';
import { searchOf } from '@turnpike/test-support/searchOf';
import fc from 'fast-check';
import { type CostLine, explainCharge } from './explainCharge.ts';

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const sumOf = (lines: CostLine[] | undefined) => lines?.reduce((sum, { amount }) => sum + amount, 0n);
const priceArbitrary = fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 10n ** 19n }));
const holdArbitrary = fc.oneof(fc.constant(10n ** 18n), fc.bigInt({ min: 0n, max: 10n ** 12n }));
const count = fc.nat(1_000_000);
const textArbitrary = fc
  .record({ uncached: count, cachedPromptTokens: count, completionTokens: count, images: fc.nat(20) })
  .map(({ uncached, ...usage }) => ({ ...usage, promptTokens: uncached + usage.cachedPromptTokens }));
const textPricesArbitrary = fc.record({
  prompt: priceArbitrary,
  completion: priceArbitrary,
  inputCacheRead: priceArbitrary,
  request: priceArbitrary,
  image: priceArbitrary,
});
const NO_TOKENS = { promptTokens: 0, cachedPromptTokens: 0, completionTokens: 0, images: 0 };

/** Expects lines of quantity × price ÷ per that sum exactly to the charge. */
function expectExact(lines: CostLine[] | undefined, charge: bigint): void {
  expect(sumOf(lines)).toBe(charge * ATTO_PER_NANO);
  for (const line of lines ?? []) {
    if ('quantity' in line) {
      const difference = line.amount * BigInt(line.per) - BigInt(line.quantity) * line.price;
      expect(difference < BigInt(line.per) && -difference < BigInt(line.per)).toBe(true);
    }
    if (line.item === 'rounding') expect(line.amount * line.amount <= (ATTO_PER_NANO / 2n) ** 2n).toBe(true);
    if (line.item === 'hold_limit') expect(line.amount < 0n).toBe(true);
  }
}

it('explains each charge of tokens to the nano-dollar', () => {
  fc.assert(
    fc.property(textArbitrary, textPricesArbitrary, holdArbitrary, (usage, prices, holdNanoUsd) => {
      const formulaNanoUsd = computeCharge(usage, prices);
      const chargeNanoUsd = least(formulaNanoUsd, holdNanoUsd);
      const call = { ...usage, status: 'success', billingUnit: 'token', units: null, formulaNanoUsd, chargeNanoUsd };
      expectExact(explainCharge(call, prices), chargeNanoUsd);
    }),
    searchOf(500),
  );
});

it('explains each charge of media to the nano-dollar', () => {
  const units = fc.constantFrom(...MEDIA_BILLING_UNITS);
  fc.assert(
    fc.property(count, units, priceArbitrary, holdArbitrary, (counted, billingUnit, price, holdNanoUsd) => {
      const formulaNanoUsd = computeUnitCharge(counted, { billingUnit, price });
      const chargeNanoUsd = least(formulaNanoUsd, holdNanoUsd);
      const call = { ...NO_TOKENS, status: 'success', billingUnit, units: counted, formulaNanoUsd, chargeNanoUsd };
      expectExact(explainCharge(call, { billingUnit, price }), chargeNanoUsd);
    }),
    searchOf(500),
  );
});

const PRICES = { prompt: 2_500_000_000n, completion: 3n, inputCacheRead: 1n, request: 0n, image: 0n };
const CALL = { ...NO_TOKENS, promptTokens: 3, status: 'success', billingUnit: 'token', units: null };

it('rounds once, and limits the charge to the hold, in lines of their own', () => {
  const lines = explainCharge({ ...CALL, formulaNanoUsd: 8n, chargeNanoUsd: 6n }, PRICES);
  expect(lines).toEqual([
    { item: 'uncached_prompt_tokens', quantity: 3, price: 2_500_000_000n, per: 1, amount: 7_500_000_000n },
    { item: 'rounding', amount: 500_000_000n },
    { item: 'hold_limit', amount: -2_000_000_000n },
  ]);
});

it('has no lines for a call that costs nothing, and none for prices that do not give the charge', () => {
  const uncharged = { ...CALL, formulaNanoUsd: 0n, chargeNanoUsd: 0n };
  expect(explainCharge({ ...uncharged, status: 'failure' }, PRICES)).toEqual([]);
  expect(explainCharge(uncharged, PRICES)).toBeUndefined();
  expect(explainCharge({ ...uncharged, promptTokens: 0 }, { billingUnit: 'image', price: 0n })).toBeUndefined();
});
