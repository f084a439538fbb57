import { currentWorld } from '../world/currentWorld.ts';

/** Stands in for `setTimeout` of `node:timers/promises`. */
export function setTimeout<T>(
  delayMs: number,
  value?: T,
  { signal }: { signal?: AbortSignal } = {},
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const event = currentWorld().scheduleTimer(Math.max(delayMs, 1), () => {
      signal?.removeEventListener('abort', onAbort);
      resolve(value);
    });
    function onAbort(): void {
      event.isCancelled = true;
      reject(signal?.reason);
    }
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Stands in for `setImmediate` of `node:timers/promises`. */
export const setImmediate = (): Promise<void> => setTimeout(0);
