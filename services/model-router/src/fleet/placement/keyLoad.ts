import { SOON_MS } from '../terms/limits.ts';

/** What one key has under way on one engine, and whether others could soon have it. */
export class KeyLoad {
  #calls = 0;
  #tokens = 0;
  /** Calls that were under way when the generation began are of an earlier one. */
  #generation = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #size = 0;
  #left = 0;
  /** Calls of the generation before, if half of them ended soon. */
  #quickCalls = 0;

  get calls(): number {
    return this.#calls;
  }

  get tokens(): number {
    return this.#tokens;
  }

  /** Counts a call; what is returned ends it, once. */
  take(tokens: number): (nowMs: number) => void {
    const generation = this.#generation;
    this.#calls += 1;
    this.#tokens += tokens;
    return (nowMs) => {
      this.#calls -= 1;
      this.#tokens -= tokens;
      if (generation < this.#generation) this.#left -= 1;
      if (this.#left * 2 <= this.#size) this.#beginGeneration(nowMs);
    };
  }

  /**
   * Whether half of what it has will most likely have ended in 20 s: as it was the last time, with at least half as many
   * calls, and as it still may be. Of a burst nothing is known.
   */
  comesBackSoon(nowMs: number): boolean {
    return nowMs - this.#sinceMs <= SOON_MS && this.#calls <= 2 * this.#quickCalls;
  }

  #beginGeneration(nowMs: number): void {
    this.#quickCalls = nowMs - this.#sinceMs <= SOON_MS ? this.#size : 0;
    this.#generation += 1;
    this.#sinceMs = nowMs;
    this.#size = this.#calls;
    this.#left = this.#calls;
  }
}
