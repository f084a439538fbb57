import { median } from './median.ts';

/** Says that a bench has no figure, and the reason. */
export class NoFigure extends Error {}

/** One thing that was measured, and what it has to be. */
export interface Figure {
  name: string;
  /** The measurement of each round; one if there are no rounds. */
  rounds: number[];
  /** Behind the number; nothing for a ratio. */
  unit?: string;
  /** The target, if there is one. */
  atMost?: number | undefined;
  atLeast?: number | undefined;
  /** The same of the barest that does the work: Node pipes in place of the gateway, scripts that decide nothing. */
  floor?: number[];
  /** Why there is no number: a call failed, or the bench itself was the bottleneck. */
  refusal?: string;
}

/** A figure as it is kept in a file. */
export interface FigureResult extends Figure {
  median: number | null;
  floorMedian?: number;
  isReached: boolean;
}

export const isReached = (figure: Figure): boolean => {
  const { rounds, atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY, refusal } = figure;
  const middle = median(rounds);
  return refusal === undefined && middle <= atMost && middle >= atLeast;
};

export const toResult = (figure: Figure): FigureResult => ({
  ...figure,
  median: figure.refusal === undefined ? median(figure.rounds) : null,
  ...(figure.floor && { floorMedian: median(figure.floor) }),
  isReached: isReached(figure),
});

/** A figure of one value, with its unit and what it has to be. */
export const single = (name: string, value: number, limits: Omit<Figure, 'name' | 'rounds'> = {}): Figure => ({
  name,
  rounds: [value],
  ...limits,
});

/** The ratios of two measurements of the same rounds. */
export const divideRounds = (dividend: number[], divisor: number[]): number[] =>
  dividend.map((value, round) => value / (divisor[round] ?? Number.NaN));

/** Formats one line for each figure: name, median, minimum and maximum of its rounds, target, result, and lower bound. */
export function formatFigures(figures: Figure[]): string {
  const width = Math.max(...figures.map(({ name }) => name.length));
  return figures.map((figure) => `  ${formatFigure(figure, width)}\n`).join('');
}

function formatFigure(figure: Figure, width: number): string {
  const { name, rounds, unit = '', refusal } = figure;
  const label = name.padEnd(width);
  if (refusal !== undefined) return `${label}  NO FIGURE: ${refusal}`;
  const spread = rounds.length > 1 ? `${toDigits(Math.min(...rounds))}–${toDigits(Math.max(...rounds))}` : '';
  const value = `${toDigits(median(rounds))} ${unit}`.trimEnd();
  const floor = figure.floor ? `bare ${toDigits(median(figure.floor))}` : '';
  const verdict = verdictOf(figure).padEnd(7);
  const cells = [label, value.padStart(14), spread.padStart(16), wantedOf(figure).padStart(10), verdict, floor];
  return cells.join('  ').trimEnd();
}

const verdictOf = (figure: Figure): string => {
  if (figure.atMost === undefined && figure.atLeast === undefined) return '';
  return isReached(figure) ? 'reached' : 'MISSED';
};

function wantedOf({ atMost, atLeast }: Figure): string {
  if (atMost !== undefined) return `≤ ${atMost}`;
  return atLeast === undefined ? '' : `≥ ${atLeast}`;
}

/** Three digits that mean something. */
export const toDigits = (value: number): string =>
  Number.isFinite(value) && Math.abs(value) < 100 ? String(Number(value.toPrecision(3))) : value.toFixed(0);
