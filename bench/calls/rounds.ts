import type { Figure } from '../figure.ts';
import { NoFigure } from '../figure.ts';
import { median } from '../median.ts';
import type { Target } from './target.ts';

/** The measurements of each round, by target. */
export interface Rounds<T> {
  targets: Target[];
  /** Throws `NoFigure` where a round had none. */
  of(target: Target): T[];
}

/** Measures all targets by turns, so that none always meets the warmer or the busier machine. A target that fails is asked no more. */
export async function inRounds<T>(
  count: number,
  targets: (Target | undefined)[],
  measure: (target: Target, round: number) => Promise<T>,
): Promise<Rounds<T>> {
  const all = targets.filter((target) => target !== undefined);
  const results = new Map(all.map((target) => [target, [] as T[]]));
  const failures = new Map<Target, NoFigure>();
  for (let round = 0; round < count; round += 1) {
    for (const target of round % 2 === 0 ? all : all.toReversed()) {
      if (failures.has(target)) continue;
      try {
        results.get(target)?.push(await measure(target, round));
      } catch (error) {
        if (!(error instanceof NoFigure)) throw error;
        failures.set(target, error);
      }
    }
  }
  return {
    targets: all,
    of(target) {
      const failure = failures.get(target);
      if (failure) throw failure;
      return results.get(target) ?? [];
    },
  };
}

/** A figure of what `read` gives for each round, or the reason why there is none; `readFloor` gives the same of bare pipes. */
export function toFigure(
  name: string,
  limits: Omit<Figure, 'name' | 'rounds' | 'floor' | 'refusal'>,
  read: () => number[],
  readFloor?: () => number[],
): Figure {
  try {
    const floor = readFloor && readIfThere(readFloor);
    return { name, rounds: read(), ...limits, ...(floor && { floor }) };
  } catch (error) {
    if (!(error instanceof NoFigure)) throw error;
    return { name, rounds: [], refusal: error.message, ...limits };
  }
}

function readIfThere(read: () => number[]): number[] | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof NoFigure)) throw error;
    return undefined;
  }
}

/** Returns the need of one part of a target in each round. */
export const partOf = (rounds: Rounds<Record<string, number>>, target: Target, part: string): number[] =>
  rounds.of(target).map((parts) => parts[part] ?? Number.NaN);

/** Returns the need of all parts of a target in each round. */
export const totalOf = (rounds: Rounds<Record<string, number>>, target: Target): number[] =>
  rounds.of(target).map(sumOf);

/** Returns the need of edge and router in each round, without the parts behind them. */
export const edgeAndRouterOf = (rounds: Rounds<Record<string, number>>, edge: Target): number[] =>
  rounds.of(edge).map((parts) => (parts.edge ?? Number.NaN) + (parts.router ?? Number.NaN));

/** Prints what each part of each target needed, in medians; `digits` behind the point. */
export function printParts(title: string, rounds: Rounds<Record<string, number>>, digits = 1): void {
  print(title);
  for (const target of rounds.targets) {
    try {
      const all = rounds.of(target);
      const totals = all.map(sumOf);
      const middle = (part: string): string => median(all.map((one) => one[part] ?? 0)).toFixed(digits);
      const cells = Object.keys(target.parts).map((part) => `${part} ${middle(part)}`);
      print(`  ${target.name.padEnd(22)} ${median(totals).toFixed(digits).padStart(8)}   ${cells.join(', ')}`);
    } catch (error) {
      if (!(error instanceof NoFigure)) throw error;
      print(`  ${target.name.padEnd(22)} ${error.message}`);
    }
  }
  print('');
}

export const sumOf = (parts: Record<string, number>): number => Object.values(parts).reduce((sum, one) => sum + one, 0);

export const print = (line: string): void => void process.stdout.write(`${line === '' ? '' : `  ${line}`}\n`);
