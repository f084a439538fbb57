/** A key's limits after the gate's decision, as the `x-ratelimit-*` headers show them. */
export interface RateLimitState {
  limitRequests: number;
  remainingRequests: number;
  resetRequestsMs: number;
  limitTokens: number;
  remainingTokens: number;
  resetTokensMs: number;
}

/** A duration as the limit headers write it: seconds with at most three decimals and a trailing `s`. */
const toDuration = (ms: number): string => `${Number((ms / 1_000).toFixed(3))}s`;

/** The `x-ratelimit-*` headers of an inference answer: the key's limits, what is left, and when all of it is back. */
export function toRateLimitHeaders(state: RateLimitState): Record<string, string> {
  return {
    'x-ratelimit-limit-requests': String(state.limitRequests),
    'x-ratelimit-limit-tokens': String(state.limitTokens),
    'x-ratelimit-remaining-requests': String(state.remainingRequests),
    'x-ratelimit-remaining-tokens': String(state.remainingTokens),
    'x-ratelimit-reset-requests': toDuration(state.resetRequestsMs),
    'x-ratelimit-reset-tokens': toDuration(state.resetTokensMs),
  };
}
