const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 8_000;

/**
 * Spares an engine that says it is full or about to stop (429, 503) for a moment: 1 s, and twice as long each further time,
 * up to 8 s. It is no fault, so nothing has to be proved afterwards.
 */
export class BusyRest {
  readonly #nowMs: () => number;
  #untilMs = Number.NEGATIVE_INFINITY;
  #nextMs = FIRST_REST_MS;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  get isResting(): boolean {
    return this.#nowMs() < this.#untilMs;
  }

  /** Begins a rest, unless there is one: calls that were refused together count once. */
  begin(): void {
    if (this.isResting) return;
    this.#untilMs = this.#nowMs() + this.#nextMs;
    this.#nextMs = Math.min(2 * this.#nextMs, LONGEST_REST_MS);
  }

  /** It took a call and answers it. */
  clear(): void {
    this.#nextMs = FIRST_REST_MS;
  }
}
