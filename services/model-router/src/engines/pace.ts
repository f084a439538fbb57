import { lowerMedian } from '../health/outliers.ts';
import {
  FIXED_TOKENS,
  LATEST_FIRST_EVENTS,
  LATEST_STREAMS,
  LEAST_MS_PER_TOKEN,
  MIN_PACED_CALLS,
  MIN_PACED_TOKENS,
  USUAL_CALLS,
} from './terms/limits.ts';

/** One measure of an engine's pace, in milliseconds a token, as its calls show it one after the other. */
class PaceMeasure {
  readonly #latest: number;
  readonly #values: number[] = [];
  /** The usual value, once it was asked for. Of one engine alone it is undefined, because it is compared with no other. */
  #usual: number | undefined;

  /** `latest` is how many calls tell what the pace is now. */
  constructor(latest: number) {
    this.#latest = latest;
  }

  add(msPerToken: number): void {
    this.#values.push(msPerToken);
    if (this.#values.length > USUAL_CALLS) this.#values.shift();
    this.#usual = undefined;
  }

  /** The quickest of the last few calls; undefined until there were some. */
  get now(): number | undefined {
    return this.#values.length < MIN_PACED_CALLS ? undefined : Math.min(...this.#values.slice(-this.#latest));
  }

  /** The median of many calls, which a moment of much work does not change; undefined until there were some. */
  get usual(): number | undefined {
    if (this.#values.length < MIN_PACED_CALLS) return undefined;
    this.#usual ??= lowerMedian(this.#values);
    return this.#usual;
  }
}

/**
 * How quick one engine is, by two measures. The quickest of the last few calls counts: a slow engine makes all of them slow,
 * while a client that reads slowly, or a prompt that was not cached after all, is alone with it.
 */
export class EnginePace {
  /** From sending a call to its first event, by the tokens of prompts that had to be computed meanwhile. */
  readonly firstEvents = new PaceMeasure(LATEST_FIRST_EVENTS);
  /** From the first event to the last, by the tokens of the answer. */
  readonly streams = new PaceMeasure(LATEST_STREAMS);

  /** `tokensAhead` are those of prompts that were still to be computed when the call was sent, its own included. */
  firstEvent({ ms, tokensAhead }: { ms: number; tokensAhead: number }): void {
    this.firstEvents.add(Math.max(ms / (FIXED_TOKENS + tokensAhead), LEAST_MS_PER_TOKEN));
  }

  streamEnded({ ms, tokens }: { ms: number; tokens: number }): void {
    if (tokens >= MIN_PACED_TOKENS) this.streams.add(ms / tokens);
  }
}
