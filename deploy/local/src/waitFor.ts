import { setTimeout as pause } from 'node:timers/promises';

/** How often it is asked where nothing else is said. */
const INTERVAL_MS = 50;

/**
 * Asks until the answer is not undefined and resolves with it; resolves with undefined once `timeoutMs` have passed.
 * Rejects as soon as `signal` is aborted, with its reason.
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
