import type { Admission, AdmitRequest } from './admit.ts';

type Admit = (request: AdmitRequest) => Promise<Admission>;
type Refusal = Extract<Admission, { outcome: 'rate_limited' }>;

/** How long a refusal is told again. What another call of the key gives back, or a newer record of it, counts so much later at most. */
const AGAIN_MS = 100;
/** Beyond that all are forgotten: each key asks once more. */
const MOST_KEYS = 10_000;

/**
 * Makes an `admit` that tells a key which has used up its requests or tokens of a minute so again, without asking Redis, for 100 ms and
 * never beyond the instant that it was told to come back at. So a client that goes on all the same costs Redis next to nothing.
 */
export function refuseAgain(admit: Admit): Admit {
  const known = new Map<string, { refusal: Refusal; generation: number; askedAt: number }>();
  return async (request) => {
    const { keyId, generation } = request.key;
    const askedAt = performance.now();
    const told = known.get(keyId);
    if (told) {
      const ms = askedAt - told.askedAt;
      const { refusal } = told;
      if (told.generation === generation && ms < Math.min(AGAIN_MS, refusal.retryAfterMs)) return after(ms, refusal);
      known.delete(keyId);
    }
    const admission = await admit(request);
    if (admission.outcome !== 'rate_limited') return admission;
    if (known.size >= MOST_KEYS) known.clear();
    known.set(keyId, { refusal: admission, generation, askedAt });
    return admission;
  };
}

/** What is said of a limit so much later: its end is nearer. That a request or some tokens more are there is left unsaid. */
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
