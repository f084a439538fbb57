import { performance } from 'node:perf_hooks';

/** Time as an engine sees it; tests drive one by hand. */
export interface Clock {
  /** Milliseconds that only ever grow. */
  nowMs(): number;
  /** The calendar's time, for `created` fields and logs. */
  unixMs(): number;
  /** Calls `wake` once after `delayMs`, at the next turn of the event loop where that is zero. Returns how to call it off. */
  wakeAfter(delayMs: number, wake: () => void): () => void;
}

export const systemClock: Clock = {
  nowMs: () => performance.now(),
  unixMs: () => Date.now(),
  wakeAfter(delayMs, wake) {
    if (delayMs <= 0) {
      const immediate = setImmediate(wake);
      return () => clearImmediate(immediate);
    }
    const timer = setTimeout(wake, Math.ceil(delayMs));
    return () => clearTimeout(timer);
  },
};
