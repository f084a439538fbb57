import { setTimeout as delay } from 'node:timers/promises';

/** Waits for a condition. Rejects after `timeoutMs` with what was waited for. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>, timeoutMs = 15_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await delay(5);
  }
}
