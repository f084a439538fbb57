import { setTimeout as delay } from 'node:timers/promises';

const SHORTEST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 100;

/**
 * Waits until `probe` gives something other than `false` and `undefined`, and gives that back. Rejects after `timeoutMs`, which
 * is long enough for a busy machine, with what was waited for. Pauses a tenth of the time waited so far between two probes:
 * a probe is often a request through the whole stack.
 */
export async function until<T>(
  what: string,
  probe: () => T | false | undefined | Promise<T | false | undefined>,
  timeoutMs = 45_000,
): Promise<T> {
  const startedAt = performance.now();
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    const waitedMs = performance.now() - startedAt;
    if (waitedMs > timeoutMs) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await delay(Math.min(Math.max(waitedMs / 10, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS));
  }
}
