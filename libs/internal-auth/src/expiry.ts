/** How long what is signed is good for by the clock of whoever signed it. */
export const LIFETIME_MS = 30_000;
/**
 * How far the clocks of two hosts may be apart. It is what a replay gains: whoever reads a signed header on the way may use it
 * for so long beyond its lifetime.
 */
export const CLOCK_SKEW_MS = 300_000;

/** The instant to sign as the end of what is signed now. */
export const expiryAfter = (now: number): number => now + LIFETIME_MS;

/**
 * Whether an expiry time is valid by the reader's clock. An expiry that no clock within the bounds would have signed is
 * invalid. A token of a host whose clock is years ahead would otherwise be good for years.
 */
export function isInForce(expiresAt: number, now: number): boolean {
  const expiredMs = now - expiresAt;
  return expiredMs < CLOCK_SKEW_MS && expiredMs >= -LIFETIME_MS - CLOCK_SKEW_MS;
}
