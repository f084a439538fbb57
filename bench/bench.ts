import type { Stopwatch } from './createStopwatch.ts';
import type { Figure } from './figure.ts';

/** One benchmark: a folder here, found by its name, with a `bench.ts` that exports `bench`. */
export interface Bench {
  /** The measurement, in one line. */
  readonly measures: string;
  /** True if the bench runs only by its name. */
  readonly isOnRequest?: boolean;
  /** Its parts by name, where it has some that run alone. */
  readonly parts?: readonly string[];
  /** Runs, prints to standard output what explains its figures, and gives these; what is under way goes to `progress`. */
  run(options: BenchOptions): Promise<Figure[]>;
}

export interface BenchOptions extends Stopwatch {
  /** Equal seeds give equal workloads. */
  readonly seed: number;
  /** Whether there may be more rows, rounds and sizes: all benches together take less than ten minutes where not. */
  readonly isLong: boolean;
  /** The parts that run; all where there is none. */
  readonly parts: readonly string[];
  /** Says what is being done, in a line that the next one replaces on a terminal. */
  readonly progress: (text: string) => void;
}
