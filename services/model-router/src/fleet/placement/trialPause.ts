/** Trials take a tenth of an engine's time at most … */
const PAUSE_FACTOR = 9;
/** … and begin this long after the last one at the earliest, also where that failed at once. */
const LEAST_MS = 1_000;

/** When an engine that is left out is tried again: nine times as long after a trial as that took, so one that is quick again is soon back. */
export class TrialPause {
  #beganAtMs = Number.NEGATIVE_INFINITY;
  /** Never while a trial is under way. */
  #dueAtMs = Number.NEGATIVE_INFINITY;

  isOver(nowMs: number): boolean {
    return nowMs >= this.#dueAtMs;
  }

  /** A trial was sent. */
  begin(nowMs: number): void {
    this.#beganAtMs = nowMs;
    this.#dueAtMs = Number.POSITIVE_INFINITY;
  }

  /** It is answered, or has failed. */
  end(nowMs: number): void {
    this.#dueAtMs = nowMs + Math.max(LEAST_MS, PAUSE_FACTOR * (nowMs - this.#beganAtMs));
  }
}
