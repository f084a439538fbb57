import type { NanoUsd } from './nanoUsd.ts';

/**
 * The price of one unit (a token, a request, an image), exact: an integer count of 1e-18 USD.
 * Prices may be finer than a nano-dollar (2.5e-9 USD a token), so charges are multiplied first and rounded last.
 */
export type AttoUsd = bigint;

export const ATTO_DIGITS = 18;
export const ATTO_PER_NANO = 1_000_000_000n;

/**
 * Reads a price string of the catalog: USD in plain notation, `"0"` where nothing is charged.
 * Throws a RangeError that says what is wrong: a sign, an exponent, or more than 18 decimals.
 */
export function parsePrice(text: string): AttoUsd {
  const match = /^(\d{1,6})(?:\.(\d{1,18}))?$/.exec(text);
  if (!match) {
    throw new RangeError(
      `"${text}" is not a price: write USD in plain digits with at most ${ATTO_DIGITS} decimals, as in "0.00000025"`,
    );
  }
  return BigInt(match[1] ?? '0') * 10n ** BigInt(ATTO_DIGITS) + BigInt((match[2] ?? '').padEnd(ATTO_DIGITS, '0'));
}

/** The prices of a text call. Cached prompt tokens cost `inputCacheRead`, the rest of the prompt `prompt`. */
export interface TextPrices {
  prompt: AttoUsd;
  completion: AttoUsd;
  inputCacheRead: AttoUsd;
  request: AttoUsd;
  image: AttoUsd;
}

/** An engine's count for one call. `cachedPromptTokens` is part of `promptTokens`. */
export interface TextUsage {
  promptTokens: number;
  cachedPromptTokens: number;
  completionTokens: number;
  images: number;
}

function totalOf(usage: TextUsage, prices: TextPrices): AttoUsd {
  return (
    BigInt(usage.promptTokens - usage.cachedPromptTokens) * prices.prompt +
    BigInt(usage.cachedPromptTokens) * prices.inputCacheRead +
    BigInt(usage.completionTokens) * prices.completion +
    BigInt(usage.images) * prices.image +
    prices.request
  );
}

/** A call's charge: exact product and sum, then rounded half-up once to a nano-dollar. */
export function computeCharge(usage: TextUsage, prices: TextPrices): NanoUsd {
  return (totalOf(usage, prices) + ATTO_PER_NANO / 2n) / ATTO_PER_NANO;
}

/** The most a call could cost: as `computeCharge`, rounded up, with the prompt at its dearer rate. A hold never falls short. */
export function computeWorstCase(
  bounds: { promptTokens: number; outputTokens: number; windowTokens: number; images: number },
  prices: TextPrices,
): NanoUsd {
  const promptPrice = prices.prompt > prices.inputCacheRead ? prices.prompt : prices.inputCacheRead;
  const { promptTokens, outputTokens, windowTokens, images } = bounds;
  const dearPrices = { ...prices, prompt: promptPrice };
  // A linear price over P ≤ prompt, C ≤ output, P + C ≤ window is largest at a corner: fill the dearer side first.
  const most = {
    promptTokens: Math.min(promptTokens, windowTokens),
    outputTokens: Math.min(outputTokens, windowTokens),
  };
  const rest = {
    promptTokens: Math.min(promptTokens, windowTokens - most.outputTokens),
    outputTokens: Math.min(outputTokens, windowTokens - most.promptTokens),
  };
  const a = totalOf(
    { promptTokens: most.promptTokens, cachedPromptTokens: 0, completionTokens: rest.outputTokens, images },
    dearPrices,
  );
  const b = totalOf(
    { promptTokens: rest.promptTokens, cachedPromptTokens: 0, completionTokens: most.outputTokens, images },
    dearPrices,
  );
  const largest = a > b ? a : b;
  return (largest + ATTO_PER_NANO - 1n) / ATTO_PER_NANO;
}
