import { divideRounds, type Figure } from '../figure.ts';
import type { GrowthStack } from './startGrowthStack.ts';

/** Something of which there is more and more, and what that costs. */
export interface Curve {
  /** Names the growing quantity, and the file. */
  name: string;
  title: string;
  measure(context: CurveContext): Promise<Line[]>;
}

export interface CurveContext {
  rounds: number;
  isLong: boolean;
  progress: (text: string) => void;
  /**
   * A stack, over Kafka where that is said. With `isLong` no curve but this one has changed it; else those without Kafka share one, which
   * each leaves with one model and one engine.
   */
  startStack(options?: { kafka?: boolean }): Promise<GrowthStack>;
}

/** The measurements of each size. */
export interface Line {
  name: string;
  unit: string;
  points: { size: number; rounds: number[] }[];
  /** Limit of the last point as a multiple of the first, or of the last point itself. Where there is neither, growth is allowed. */
  atMost?: number;
  mostAtLast?: number;
}

/** A part whose cost does not grow stays below this of what it was at the smallest size. */
const DOES_NOT_BEND = 1.5;

/** The measurements of each round, by size. */
export type Measured<T> = ReadonlyMap<number, readonly T[]>;

/** A line of what is read of each measurement: it does not bend where nothing else is said. */
export const toLine = <T>(
  name: string,
  measured: Measured<T>,
  read: (measured: T, size: number, round: number) => number,
  { unit = 'µs', ...limits }: Partial<Pick<Line, 'unit' | 'mostAtLast'>> = {},
): Line => ({
  name,
  unit,
  ...(limits.mostAtLast === undefined ? { atMost: DOES_NOT_BEND } : limits),
  points: [...measured].map(([size, all]) => ({ size, rounds: all.map((one, round) => read(one, size, round)) })),
});

/** Measures every size once a round, in one order and then in the other. */
export async function measureByTurns<T>(
  sizes: number[],
  rounds: number,
  measure: (size: number, round: number) => Promise<T>,
): Promise<Measured<T>> {
  const measured = new Map(sizes.map((size) => [size, [] as T[]]));
  for (let round = 0; round < rounds; round += 1)
    for (const size of round % 2 === 0 ? sizes : sizes.toReversed())
      measured.get(size)?.push(await measure(size, round));
  return measured;
}

/** A figure for each line: what its last point is of its first, or what it is itself where that is what is limited. */
export const toFigures = (curve: string, lines: Line[]): Figure[] =>
  lines.flatMap(({ name, unit, points, atMost, mostAtLast }): Figure[] => {
    const [first, last] = [points[0], points.at(-1)];
    if (!first || !last || first === last) return [];
    const title = `${curve}: ${name} at ${toSize(last.size)} ${curve}`;
    if (mostAtLast !== undefined) return [{ name: title, rounds: last.rounds, unit, atMost: mostAtLast }];
    const ratio = divideRounds(last.rounds, first.rounds);
    return [{ name: `${title} ÷ at ${toSize(first.size)}`, rounds: ratio, atMost }];
  });

export const toSize = (size: number): string => size.toLocaleString('en');
