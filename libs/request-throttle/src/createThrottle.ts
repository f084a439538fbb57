import { LRUCache } from 'lru-cache';

/** The most names that the other processes are told of at a time, whatever a flood invents: what bounds the cost of telling. */
export const MAX_TOLD = 250;
/** A name is told of once this part of a burst was taken from it: most clients never come near a limit. */
const TOLD_PART = 0.01;

export interface ThrottleOptions {
  requestsPerMinute: number;
  /** Requests that may come at once after a quiet time. */
  burst: number;
  /** Most names remembered. The one longest unseen is forgotten first, and so starts afresh: the throttle fails soft. */
  maxNames: number;
  /** Whether other processes count the same names: `shareThrottles` has to be given it then. */
  isShared?: true;
  /** A monotonic clock, ms. */
  now?: () => number;
}

/** Requests that this process let through for a name and has not published yet. */
export interface Taken {
  name: string;
  requests: number;
  /** When the first of them was, and when this was told, on the clock of `now`. */
  since: number;
  toldAt: number;
}

export interface Throttle {
  readonly requestsPerMinute: number;
  readonly intervalMs: number;
  /** How long a whole burst takes to be allowed again. */
  readonly windowMs: number;
  /** Takes one request from a name's allowance, or as much as several. A refused one is not counted; `waitMs` says when the next would pass. */
  takeRequest(name: string, weight?: number): { isAllowed: boolean; waitMs: number };
  /** Gives back a request that was taken, for one that turned out not to be meant. */
  giveBack(name: string): void;
  /**
   * Returns the requests that are due to be published, and counts them as published. Has at most 250 names.
   */
  tell(): Taken[];
  /** Takes over how much of a name's allowance was used by all together at the time of telling, where that is more than was known. */
  hear(taken: Taken, usedMs: number): void;
}

interface Allowance {
  /** When it would be whole again, on the clock of `now`. */
  wholeAt: number;
  untold: number;
  untoldSince: number;
  isDue: boolean;
}

/** Requests per minute by name, refilled continuously (GCRA), in the memory of this process. */
export function createThrottle({
  requestsPerMinute,
  burst,
  maxNames,
  isShared,
  now = () => performance.now(),
}: ThrottleOptions): Throttle {
  const intervalMs = 60_000 / requestsPerMinute;
  const windowMs = intervalMs * burst;
  const tellFrom = isShared ? Math.ceil(burst * TOLD_PART) : Number.POSITIVE_INFINITY;
  const byName = new LRUCache<string, Allowance>({ max: maxNames });
  let due: { name: string; allowance: Allowance }[] = [];

  function begin(name: string): Allowance {
    const allowance = { wholeAt: 0, untold: 0, untoldSince: 0, isDue: false };
    byName.set(name, allowance);
    return allowance;
  }

  return {
    requestsPerMinute,
    intervalMs,
    windowMs,
    takeRequest(name, weight = 1) {
      const nowMs = now();
      const allowance = byName.get(name) ?? begin(name);
      const usedMs = Math.max(allowance.wholeAt - nowMs, 0);
      const takenMs = weight * intervalMs;
      const waitMs = usedMs + takenMs - windowMs;
      // A tenth of a microsecond of tolerance: sums of intervals such as 60,000 ÷ 7,000 are not exact.
      if (waitMs > 1e-4) return { isAllowed: false, waitMs };
      allowance.wholeAt = nowMs + usedMs + takenMs;
      if (allowance.untold === 0) allowance.untoldSince = nowMs;
      allowance.untold += weight;
      if (allowance.untold >= tellFrom && !allowance.isDue && due.length < MAX_TOLD) {
        allowance.isDue = true;
        due.push({ name, allowance });
      }
      return { isAllowed: true, waitMs: 0 };
    },
    giveBack(name) {
      const allowance = byName.peek(name);
      if (!allowance) return;
      allowance.wholeAt -= intervalMs;
      allowance.untold = Math.max(allowance.untold - 1, 0);
    },
    tell() {
      const toldAt = now();
      const told = due.map(({ name, allowance }) => {
        const { untold: requests, untoldSince } = allowance;
        Object.assign(allowance, { untold: 0, isDue: false });
        return { name, requests, since: untoldSince, toldAt };
      });
      due = [];
      return told;
    },
    hear({ name, toldAt }, usedMs) {
      const allowance = byName.peek(name);
      if (allowance) allowance.wholeAt = Math.max(allowance.wholeAt, toldAt + usedMs);
    },
  };
}
