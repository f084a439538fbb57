/** Pauses between attempts: the first, and the longest that they grow to. */
export interface Backoff {
  firstMs: number;
  longestMs: number;
}

/**
 * Returns the pause before another attempt, in ms: exponential backoff with jitter. The pause doubles with each
 * attempt, and is then shortened to between half and all of it. Processes that failed together therefore do not retry
 * together. `attempt` counts from 0.
 */
export function backoffMs(attempt: number, { firstMs, longestMs }: Backoff): number {
  return Math.min(firstMs * 2 ** attempt, longestMs) * (0.5 + Math.random() / 2);
}
