/** Finds stop strings in text that arrives in pieces, holding back what could be the beginning of one. */
export class StopStrings {
  readonly #stops: readonly string[];
  readonly #holdBack: number;
  #held = '';

  constructor(stops: readonly string[]) {
    this.#stops = stops;
    this.#holdBack = Math.max(0, ...stops.map((stop) => stop.length - 1));
  }

  /** The text that may be shown now, and the stop string that ended it, if one did; it and what follows are removed. */
  push(text: string, { isArmed }: { isArmed: boolean }): { text: string; stop?: string } {
    if (this.#stops.length === 0) return { text };
    const all = this.#held + text;
    const stop = isArmed ? this.#stops.find((candidate) => all.includes(candidate)) : undefined;
    if (stop !== undefined) {
      this.#held = '';
      return { text: all.slice(0, all.indexOf(stop)), stop };
    }
    const shown = Math.max(0, all.length - this.#holdBack);
    this.#held = all.slice(shown);
    return { text: all.slice(0, shown) };
  }

  /** Returns the text that was held back, at the end of the output. */
  flush(): string {
    const rest = this.#held;
    this.#held = '';
    return rest;
  }
}
