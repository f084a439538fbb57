import { PaceMeasure } from './paceMeasure.ts';

/** What a call takes before its first event whatever its prompt is, in tokens of a prompt: a step of the engine, and the way. */
export const FIXED_TOKENS = 400;
/** No engine reads a prompt more quickly than this, 100,000 tokens a second: more of it was cached than was thought. */
const LEAST_MS_PER_TOKEN = 0.01;
/** Shorter answers say little of a stream: their tokens may come in one event. */
export const MIN_TOKENS = 8;

/**
 * How quick one engine is, by two measures. Of either it is the quickest of the last few calls that counts: a slow engine
 * makes all of them slow, while a client that reads slowly, or a prompt that was not cached after all, is alone with it.
 */
export class EnginePace {
  /** From sending a call to its first event, by the tokens of prompts that had to be computed meanwhile. */
  readonly firstEvents = new PaceMeasure(3);
  /** From the first event to the last, by the tokens of the answer. */
  readonly streams = new PaceMeasure(8);
  /** When the first event came that the next ones may have waited with. */
  #countedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * `tokensAhead` are those of prompts that were still to be computed when the call was sent, its own included. Calls that
   * waited together were late for one and the same reason.
   */
  firstEvent({ ms, tokensAhead, nowMs }: { ms: number; tokensAhead: number; nowMs: number }): void {
    const msPerToken = Math.max(ms / (FIXED_TOKENS + tokensAhead), LEAST_MS_PER_TOKEN);
    if (nowMs - ms < this.#countedAtMs) this.firstEvents.join(msPerToken);
    else {
      this.firstEvents.add(msPerToken);
      this.#countedAtMs = nowMs;
    }
  }

  streamEnded({ ms, tokens }: { ms: number; tokens: number }): void {
    if (tokens >= MIN_TOKENS) this.streams.add(ms / tokens);
  }
}
