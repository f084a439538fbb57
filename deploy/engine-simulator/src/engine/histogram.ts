/** A Prometheus histogram: how many observations were at most each bound, their sum and their count. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count += 1;
    for (let index = 0; index < this.#bounds.length; index += 1) {
      if (value <= (this.#bounds[index] ?? 0)) {
        this.#counts[index] = (this.#counts[index] ?? 0) + 1;
        return;
      }
    }
  }

  /** The lines of the text format; `labels` is the inside of the braces. */
  render(name: string, labels: string): string {
    let cumulative = 0;
    const buckets = this.#bounds.map((bound, index) => {
      cumulative += this.#counts[index] ?? 0;
      return `${name}_bucket{${labels},le="${bound}"} ${cumulative}\n`;
    });
    return `${buckets.join('')}${name}_bucket{${labels},le="+Inf"} ${this.#count}\n${name}_sum{${labels}} ${this.#sum}\n${name}_count{${labels}} ${this.#count}\n`;
  }
}
