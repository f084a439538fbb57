/** One benchmark: a folder here, found by its name, with a `bench.ts` that exports `bench`. */
export interface Bench {
  /** What it measures, in one line. */
  readonly measures: string;
  /** Runs and prints its table to standard output; what is under way goes to `progress`. False when a figure is missed. */
  run(options: BenchOptions): Promise<boolean>;
}

export interface BenchOptions {
  /** Equal seeds give equal workloads. */
  readonly seed: number;
  /** Says what is being done, in a line that the next one replaces on a terminal. */
  readonly progress: (text: string) => void;
}
