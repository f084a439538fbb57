/** The time of the processor: the system's, plus what the admin port has moved it forward. */
export class Clock {
  #aheadMs = 0;

  nowMs(): number {
    return Date.now() + this.#aheadMs;
  }

  /** Seconds since 1970, as objects of the processor have them. */
  nowSeconds(): number {
    return Math.floor(this.nowMs() / 1_000);
  }

  advance(ms: number): void {
    this.#aheadMs += ms;
  }
}
