/** Failed calls on end after which an engine is left out. */
const MAX_FAILURES = 5;
/** Of so many callers: what one caller's own calls do is no proof against an engine. */
const MIN_CALLERS = 2;

/** Calls that an engine failed one after the other, with none completed between. */
export class FailureStreak {
  #failures = 0;
  readonly #callers = new Set<string>();

  /** True when the engine should be left out: five on end, of two callers at least. */
  failed(caller: string): boolean {
    this.#failures += 1;
    if (this.#callers.size < MIN_CALLERS) this.#callers.add(caller);
    return this.#failures >= MAX_FAILURES && this.#callers.size >= MIN_CALLERS;
  }

  clear(): void {
    this.#failures = 0;
    this.#callers.clear();
  }
}
