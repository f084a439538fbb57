import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { computeCharge, computeWorstCase, parsePrice, type TextPrices } from './price.ts';

// The same cases every time: no run fails by chance.
fc.configureGlobal({ seed: 20_261_121 });

const price = fc.bigInt({ min: 0n, max: 10n ** 14n });
const prices: fc.Arbitrary<TextPrices> = fc.record({
  prompt: price,
  completion: price,
  inputCacheRead: price,
  request: price,
  image: price,
});
const tokens = fc.integer({ min: 0, max: 300_000 });

describe('a price', () => {
  it.each([
    ['0', 0n],
    ['1', 10n ** 18n],
    ['0.0000000025', 2_500_000_000n],
    ['0.000000000000000001', 1n],
  ])('is read exactly: %s', (text, atto) => expect(parsePrice(text)).toBe(atto));

  it.each(['', '-1', '+1', '1e-9', '.5', '1.', '0,5', ' 1', 'NaN', '0.0000000000000000001'])(
    'in another notation is refused and says how to write it: "%s"',
    (text) => expect(() => parsePrice(text)).toThrow(/is not a price: write USD in plain digits/),
  );
});

describe('a charge', () => {
  it('is the exact sum, rounded half-up once', () => {
    const only = (prompt: bigint) => ({ prompt, completion: 0n, inputCacheRead: 0n, request: 0n, image: 0n });
    const charge = (promptTokens: number, prompt: bigint) =>
      computeCharge({ promptTokens, cachedPromptTokens: 0, completionTokens: 0, images: 0 }, only(prompt));
    // 2.5 nano-dollars a token: one token rounds up, two are exact.
    expect(charge(1, 2_500_000_000n)).toBe(3n);
    expect(charge(2, 2_500_000_000n)).toBe(5n);
    expect(charge(1, 499_999_999n)).toBe(0n);
    expect(charge(1, 500_000_000n)).toBe(1n);
  });

  it('charges cached prompt tokens at their own price and the rest of the prompt at the prompt’s', () => {
    const usage = { promptTokens: 100, cachedPromptTokens: 60, completionTokens: 10, images: 2 };
    const own = {
      prompt: 3_000_000_000n,
      completion: 7_000_000_000n,
      inputCacheRead: 1_000_000_000n,
      request: 5_000_000_000n,
      image: 11_000_000_000n,
    };
    expect(computeCharge(usage, own)).toBe(40n * 3n + 60n * 1n + 10n * 7n + 5n + 2n * 11n);
  });
});

describe('a worst case', () => {
  it('is never below the charge of any usage within its bounds', () => {
    fc.assert(
      fc.property(
        prices,
        tokens,
        tokens,
        fc.integer({ min: 1, max: 300_000 }),
        fc.integer({ min: 0, max: 16 }),
        fc.tuple(
          fc.double({ min: 0, max: 1, noNaN: true }),
          fc.double({ min: 0, max: 1, noNaN: true }),
          fc.double({ min: 0, max: 1, noNaN: true }),
        ),
        (own, promptTokens, outputTokens, windowTokens, images, [p, c, cached]) => {
          const worst = computeWorstCase({ promptTokens, outputTokens, windowTokens, images }, own);
          const used = Math.floor(p * Math.min(promptTokens, windowTokens));
          const completionTokens = Math.floor(c * Math.min(outputTokens, windowTokens - used));
          const usage = { promptTokens: used, cachedPromptTokens: Math.floor(cached * used), completionTokens, images };
          expect(computeCharge(usage, own) <= worst).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('is what the dearest usage within the window costs, and no more', () => {
    const own = { prompt: 10n ** 9n, completion: 3n * 10n ** 9n, inputCacheRead: 0n, request: 0n, image: 0n };
    // 80 + 50 do not fit 100: the dearer output is filled first.
    expect(computeWorstCase({ promptTokens: 80, outputTokens: 50, windowTokens: 100, images: 0 }, own)).toBe(
      50n * 3n + 50n,
    );
  });
});
