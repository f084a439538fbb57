import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;

/**
 * Waits until `probe` gives something other than `false` and `undefined`, and gives that back. Rejects after `timeoutMs`, which
 * is long enough for a machine that is busy with other things, with what was waited for.
 */
export async function until<T>(
  what: string,
  probe: () => T | false | undefined | Promise<T | false | undefined>,
  timeoutMs = 45_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await delay(POLL_MS);
  }
}
