import type { Waits } from './waits.ts';

/** One that does one thing after the other, in the order they come: an event loop, or a shard of Redis. */
export class FifoServer {
  /** Work that came since then, seconds. */
  work = 0;
  #freeAt = 0;
  readonly #waits: Waits | undefined;

  constructor(waits?: Waits) {
    this.#waits = waits;
  }

  /** Takes work that comes `at`, not before what it was given before; tells when that is done. */
  serve(at: number, seconds: number): number {
    const beginsAt = Math.max(at, this.#freeAt);
    this.#waits?.add(beginsAt - at);
    this.work += seconds;
    this.#freeAt = beginsAt + seconds;
    return this.#freeAt;
  }
}
