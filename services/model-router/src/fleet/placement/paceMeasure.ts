import { lowerMedian } from './lowerMedian.ts';

/** Calls that tell what is usual. */
const REMEMBERED = 32;
/** Fewer say nothing. */
const NEEDED = 3;

/** One measure of an engine's pace, in milliseconds a token, as its calls show it one after the other. */
export class PaceMeasure {
  readonly #latest: number;
  readonly #values: number[] = [];
  /** The quickest of the last few calls; undefined until there were some. */
  now: number | undefined;
  /** The median of many calls, which a moment of much work does not change; undefined until there were some. */
  usual: number | undefined;

  /** `latest` is how many calls tell what the pace is now. */
  constructor(latest: number) {
    this.#latest = latest;
  }

  add(msPerToken: number): void {
    this.#take(msPerToken);
  }

  /** One more call of those that the last value came from: they count as one, by the quickest of them. */
  join(msPerToken: number): void {
    this.#take(Math.min(msPerToken, this.#values.pop() ?? msPerToken));
  }

  #take(msPerToken: number): void {
    this.#values.push(msPerToken);
    if (this.#values.length > REMEMBERED) this.#values.shift();
    if (this.#values.length < NEEDED) return;
    this.now = Math.min(...this.#values.slice(-this.#latest));
    this.usual = lowerMedian(this.#values);
  }
}
