import type { Clock } from './clock.ts';

/** A clock that the test moves. */
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

  /** Advances the time inside `busy` without waking callers, like a process that is blocked. */
  freeze(busy: () => void): void {
    const wakes = this.#wakes;
    this.#wakes = [];
    busy();
    this.#wakes = wakes;
  }

  /** Advances the time and wakes callers in the order of their times. */
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
