import { scrapeMetrics } from '@turnpike/test-support/readMetrics';

/** Longest that an input may keep a service's event loop from everybody else. */
export const MAX_BLOCKED_MS = 200;

/** Asks services for how long their threads computed at a time, since they were asked last. */
export interface LoopProbe {
  /** The longest of all of them, in milliseconds. */
  takeBlockedMs(): Promise<number>;
}

/** `metricsUrls` are those of services with the event loop's metrics. */
export function createLoopProbe(metricsUrls: readonly string[]): LoopProbe {
  return {
    async takeBlockedMs() {
      const pages = await Promise.all(metricsUrls.map(scrapeMetrics));
      const longest = pages.map((samples) => samples.get('turnpike_event_loop_blocked_seconds') ?? Number.NaN);
      if (longest.some(Number.isNaN)) throw new Error('a service does not tell how long its event loop was blocked');
      return Math.max(...longest) * 1_000;
    },
  };
}
