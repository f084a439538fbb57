import type { Clock } from './clock.ts';

/** A clock that stands still until the test moves it. */
export class VirtualClock implements Clock {
  #nowMs = 0;
  #wakes: { atMs: number; wake: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  unixMs(): number {
    return 1_790_000_000_000 + this.#nowMs;
  }

  wakeAfter(delayMs: number, wake: () => void): () => void {
    const entry = { atMs: this.#nowMs + delayMs, wake };
    this.#wakes.push(entry);
    return () => {
      this.#wakes = this.#wakes.filter((other) => other !== entry);
    };
  }

  /** Lets time pass in `busy` without waking anybody, as a process that is kept from running. */
  freeze(busy: () => void): void {
    const wakes = this.#wakes;
    this.#wakes = [];
    busy();
    this.#wakes = wakes;
  }

  /** Moves time on and wakes in order whoever asked for it on the way. */
  advance(byMs: number): void {
    const untilMs = this.#nowMs + byMs;
    for (;;) {
      const next = this.#wakes.toSorted((a, b) => a.atMs - b.atMs)[0];
      if (!next || next.atMs > untilMs) break;
      this.#wakes = this.#wakes.filter((other) => other !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.wake();
    }
    this.#nowMs = untilMs;
  }
}
