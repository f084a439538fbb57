import { setTimeout as delay } from 'node:timers/promises';

/** Waits for `pauseMs`, or shorter when `signal` fires. Never rejects. */
export async function pause(pauseMs: number, signal: AbortSignal): Promise<void> {
  await delay(pauseMs, undefined, { signal }).catch(() => {});
}
