/** Calls that are remembered. */
const CALLS = 8;
/** Calls before a measure means anything. */
const MIN_CALLS = 3;
/** Shorter answers say little: their tokens may come in one event. */
const MIN_TOKENS = 8;

/**
 * How long one engine takes for a token of a stream. It is the quickest of its last few calls that counts: a slow engine
 * makes all of them slow, a client that reads slowly only its own.
 */
export class EnginePace {
  readonly #msPerToken: number[] = [];
  /** When it was measured last, by the placer's clock. */
  measuredAtMs = Number.NEGATIVE_INFINITY;

  measure({ ms, tokens, nowMs }: { ms: number; tokens: number; nowMs: number }): void {
    if (tokens < MIN_TOKENS) return;
    this.#msPerToken.push(ms / tokens);
    if (this.#msPerToken.length > CALLS) this.#msPerToken.shift();
    this.measuredAtMs = nowMs;
  }

  /** Undefined until a few streams have ended. */
  get msPerToken(): number | undefined {
    return this.#msPerToken.length < MIN_CALLS ? undefined : Math.min(...this.#msPerToken);
  }
}
