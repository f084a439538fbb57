/** A timer that is set again and again: what it waits for must come within the time set last. */
export class Deadline {
  readonly #onMissed: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onMissed: () => void) {
    this.#onMissed = onMissed;
  }

  set(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#onMissed, ms);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}
