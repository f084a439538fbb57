/** Pauses between attempts: the first, and the longest that they grow to. */
export interface Backoff {
  firstMs: number;
  longestMs: number;
}

/**
 * Exponential backoff with jitter: how long to pause before another attempt, twice as long each time, and then half of that
 * to all of it, so that those who failed together do not come back together. `attempt` counts from 0.
 */
export function backoffMs(attempt: number, { firstMs, longestMs }: Backoff): number {
  return Math.min(firstMs * 2 ** attempt, longestMs) * (0.5 + Math.random() / 2);
}
