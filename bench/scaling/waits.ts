const LEAST_SECONDS = 1e-6;
/** Each step is 2 % above the one before. */
const STEP = Math.log(1.02);

/** How long things waited, kept as a histogram with steps of 2 %. */
export class Waits {
  #counts = new Float64Array(1_024);
  #total = 0;
  #sum = 0;

  add(seconds: number): void {
    const step = seconds <= LEAST_SECONDS ? 0 : 1 + Math.floor(Math.log(seconds / LEAST_SECONDS) / STEP);
    const index = Math.min(step, this.#counts.length - 1);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#total += 1;
    this.#sum += seconds;
  }

  /** What so large a part of them does not pass, seconds. */
  percentile(part: number): number {
    let left = part * this.#total;
    for (const [index, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return index === 0 ? 0 : LEAST_SECONDS * Math.exp(STEP * index);
    }
    return Number.NaN;
  }

  get mean(): number {
    return this.#sum / this.#total;
  }

  get count(): number {
    return this.#total;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#total = 0;
    this.#sum = 0;
  }
}
