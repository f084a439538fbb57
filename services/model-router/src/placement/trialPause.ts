const FIRST_MS = 2_000;
const LONGEST_MS = 160_000;

/**
 * When an engine that is left out gets a call all the same, which tells whether it has recovered: 2 s after it was
 * measured last, and twice as long each time that it had not, up to 160 s.
 */
export class TrialPause {
  #pauseMs = FIRST_MS;
  #triedAtMs = Number.NEGATIVE_INFINITY;

  isOver({ nowMs, measuredAtMs }: { nowMs: number; measuredAtMs: number }): boolean {
    return nowMs - Math.max(measuredAtMs, this.#triedAtMs) > this.#pauseMs;
  }

  /** A call was sent there to see. */
  begin(nowMs: number): void {
    this.#triedAtMs = nowMs;
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_MS);
  }

  /** It is as quick as the others. */
  end(): void {
    this.#pauseMs = FIRST_MS;
  }
}
