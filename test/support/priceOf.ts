interface Pricing {
  prompt: string;
  completion: string;
  input_cache_read: string;
  request: string;
}

interface Counts {
  prompt_tokens: number;
  completion_tokens: number;
  cached_tokens: number;
}

const DIGITS = 18;

/** A decimal text as an integer of 1e-18: written here anew, so that the product's own arithmetic is not its own judge. */
function toAtto(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(DIGITS, '0'));
}

/** Returns the price of a call in nano-dollars by the prices of `GET /v1/models`: exact, rounded half-up once. */
export function priceOf(counts: Counts, pricing: Pricing): bigint {
  const atto =
    BigInt(counts.prompt_tokens - counts.cached_tokens) * toAtto(pricing.prompt) +
    BigInt(counts.cached_tokens) * toAtto(pricing.input_cache_read) +
    BigInt(counts.completion_tokens) * toAtto(pricing.completion) +
    toAtto(pricing.request);
  const [nano, rest] = [atto / 10n ** 9n, atto % 10n ** 9n];
  return rest * 2n >= 10n ** 9n ? nano + 1n : nano;
}

/** A USD number of the API as the nano-dollars it was printed from. */
export function toNano(usd: number): bigint {
  return BigInt(Math.round(usd * 1e9));
}
