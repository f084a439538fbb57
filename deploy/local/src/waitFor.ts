import { setTimeout as pause } from 'node:timers/promises';

/** Default interval. */
const INTERVAL_MS = 50;

/**
 * Calls `ask` until its result is not undefined, and resolves with that result. Resolves with undefined after
 * `timeoutMs`. Rejects with `signal`'s reason as soon as it is aborted.
 */
export async function waitFor<Answer>(
  ask: () => Promise<Answer | undefined>,
  { timeoutMs, intervalMs = INTERVAL_MS, signal }: { timeoutMs: number; intervalMs?: number; signal?: AbortSignal },
): Promise<Answer | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() >= deadline) return undefined;
    await pause(intervalMs);
  }
}
