/** Cuts generated text at the first stop string, holding back whatever may be the beginning of one. */
export class StopStrings {
  readonly #stops: readonly string[];
  #held = '';

  constructor(stops: readonly string[]) {
    this.#stops = stops;
  }

  /** Text that is safe to show now, and the stop string that `text` completed, after which nothing more is shown. */
  push(text: string): { shown: string; stop: string | undefined } {
    const all = this.#held + text;
    const first = this.#stops
      .map((stop) => ({ stop, at: all.indexOf(stop) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at)[0];
    if (first) {
      this.#held = '';
      return { shown: all.slice(0, first.at), stop: first.stop };
    }
    const heldLength = Math.max(0, ...this.#stops.map((stop) => countPartial(all, stop)));
    this.#held = all.slice(all.length - heldLength);
    return { shown: all.slice(0, all.length - heldLength), stop: undefined };
  }

  /** What was held back, once no more text comes. */
  flush(): string {
    const held = this.#held;
    this.#held = '';
    return held;
  }
}

/** Length of the longest proper beginning of `stop` that `text` ends with. */
function countPartial(text: string, stop: string): number {
  for (let length = Math.min(stop.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(stop.slice(0, length))) return length;
  }
  return 0;
}
