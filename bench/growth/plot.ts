import type { Figure } from '../figure.ts';
import { divideRounds } from '../figure.ts';

/** The measurement of one size. */
export interface Point {
  size: number;
  /** One value of each round. */
  rounds: number[];
}

export interface Line {
  name: string;
  unit: string;
  points: Point[];
  /** Limit of the last point as a multiple of the first. If not given, growth is allowed. */
  atMost?: number;
}

/** Lines that share one axis of sizes. */
export interface Plot {
  /** The name of its files. */
  name: string;
  title: string;
  /** The growing quantity. */
  along: string;
  /** Limit of each line's last point, in its unit. */
  mostAtLast?: number;
  lines: Line[];
}

/** A part whose cost does not grow stays below this of what it was at the smallest size. */
export const DOES_NOT_BEND = 1.5;

/** A figure for each line: what its last point is of its first, or what it is itself where that is what is limited. */
export function toFigures({ name: curve, along, lines, mostAtLast }: Plot): Figure[] {
  return lines.flatMap(({ name, unit, points, atMost }): Figure[] => {
    const [first, last] = [points[0], points.at(-1)];
    if (!first || !last || first === last) return [];
    if (mostAtLast !== undefined)
      return [
        { name: `${curve}: ${name} at ${toSize(last.size)} ${along}`, rounds: last.rounds, unit, atMost: mostAtLast },
      ];
    const title = `${curve}: ${name} at ${toSize(last.size)} ${along} ÷ at ${toSize(first.size)}`;
    return [{ name: title, rounds: divideRounds(last.rounds, first.rounds), ...(atMost !== undefined && { atMost }) }];
  });
}

export const toSize = (size: number): string => size.toLocaleString('en');
