import { setImmediate as nextTurn } from 'node:timers/promises';

/** Work that may be left off wherever it yields; it returns what it comes to. */
export type Steps<Result> = Generator<void, Result>;

/** Bytes that are looked at, or copied, within one step: some tens of microseconds. */
export const STEP_BYTES = 65_536;

/** Longest time for which a process does nothing else than one such work. */
const SLICE_MS = 0.5;

/** Does work in slices, between which everything else has its turn. */
export async function inSlices<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const endsAt = performance.now() + SLICE_MS;
    do {
      const step = steps.next();
      if (step.done) return step.value;
    } while (performance.now() < endsAt);
    await nextTurn();
  }
}

/** Does work that is short, without a pause. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
