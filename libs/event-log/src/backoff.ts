const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** How long to pause before another attempt: doubling from 100 ms up to 5 s, with jitter. `attempt` counts from 0. */
export function backoffMs(attempt: number): number {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS);
  return Math.round(pauseMs * (0.5 + Math.random() / 2));
}
