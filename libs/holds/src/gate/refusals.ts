import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { Admission } from './admit.ts';

type Refusal = Extract<Admission, { outcome: 'rate_limited' }>;

/** Life of a refusal. A request that is given back meanwhile, or a newer record of the key, counts so much later at most. */
const AGAIN_MS = 100;
/** Beyond that all are forgotten: each key asks once more. */
const MOST_KEYS = 10_000;

/**
 * The refusals that Redis gave keys without requests or tokens left in the minute. Each is repeated for 100 ms, and
 * never past the instant at which the key may retry. A client that does not wait therefore costs Redis next to nothing.
 */
export class Refusals {
  readonly #known = new Map<string, { refusal: Refusal; generation: number; askedAt: number }>();

  /** Returns the refusal of a key with the time until its limits end now; undefined where Redis is to be asked. */
  repeat({ keyId, generation }: KeyRecord): Refusal | undefined {
    const known = this.#known.get(keyId);
    if (!known) return undefined;
    const ms = performance.now() - known.askedAt;
    const { refusal } = known;
    if (known.generation === generation && ms < Math.min(AGAIN_MS, refusal.retryAfterMs)) return after(ms, refusal);
    this.#known.delete(keyId);
    return undefined;
  }

  /** Keeps what Redis answered for a key when it was asked at `askedAt`. */
  add({ keyId, generation }: KeyRecord, refusal: Refusal, askedAt: number): void {
    if (this.#known.size >= MOST_KEYS) this.#known.clear();
    this.#known.set(keyId, { refusal, generation, askedAt });
  }
}

/** A refusal so much later: its end is nearer. A request or some tokens that came back meanwhile are left out. */
function after(ms: number, { rateLimit, retryAfterMs, ...refusal }: Refusal): Refusal {
  const later = (wholeMs: number): number => Math.max(Math.ceil(wholeMs - ms), 0);
  const { resetRequestsMs, resetTokensMs } = rateLimit;
  return {
    ...refusal,
    isToldAgain: true,
    retryAfterMs: later(retryAfterMs),
    rateLimit: { ...rateLimit, resetRequestsMs: later(resetRequestsMs), resetTokensMs: later(resetTokensMs) },
  };
}
