/** Waits for `pauseMs`, or shorter when `signal` fires. Never rejects, and keeps no process alive. */
export function pause(pauseMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, pauseMs);
    timer.unref();
    signal.addEventListener('abort', end);
  });
}
