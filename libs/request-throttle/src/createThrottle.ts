import { LRUCache } from 'lru-cache';

export interface ThrottleOptions {
  requestsPerMinute: number;
  /** Requests that may come at once after a quiet time. */
  burst: number;
  /** Most names remembered. The one longest unseen is forgotten first, and so starts afresh: the throttle fails soft. */
  maxNames: number;
  /** A monotonic clock, ms. */
  now?: () => number;
}

export interface Throttle {
  /** Takes one request from a name's allowance. A refused one is not counted; `waitMs` says when the next would pass. */
  takeRequest(name: string): { isAllowed: boolean; waitMs: number };
  /** Gives back a request that was taken, for one that turned out not to be meant. */
  giveBack(name: string): void;
}

/** Requests per minute by name, refilled continuously (GCRA), in the memory of this process. */
export function createThrottle({
  requestsPerMinute,
  burst,
  maxNames,
  now = () => performance.now(),
}: ThrottleOptions): Throttle {
  const intervalMs = 60_000 / requestsPerMinute;
  const windowMs = intervalMs * burst;
  /** When a name's allowance would be whole again, on the clock of `now`. */
  const wholeAtByName = new LRUCache<string, number>({ max: maxNames });
  return {
    takeRequest(name) {
      const nowMs = now();
      const usedMs = Math.max((wholeAtByName.get(name) ?? 0) - nowMs, 0);
      const waitMs = usedMs + intervalMs - windowMs;
      // A tenth of a microsecond of tolerance: sums of intervals such as 60,000 ÷ 7,000 are not exact.
      if (waitMs > 1e-4) return { isAllowed: false, waitMs };
      wholeAtByName.set(name, nowMs + usedMs + intervalMs);
      return { isAllowed: true, waitMs: 0 };
    },
    giveBack(name) {
      const wholeAt = wholeAtByName.peek(name);
      if (wholeAt !== undefined) wholeAtByName.set(name, wholeAt - intervalMs);
    },
  };
}
