import { divideRounds, type Figure, NoFigure } from '../figure.ts';
import { median, percentile } from '../median.ts';
import type { Peers } from './peers/startPeers.ts';
import type { Target } from './target.ts';
import type { Targets } from './targets.ts';

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

/** A figure of what is read as a multiple of all that another target needs; the floor is divided by the same. */
export function toRatio(
  name: string,
  { rounds, divisor, atMost }: { rounds: Rounds<Record<string, number>>; divisor: Target; atMost?: number | undefined },
  read: () => number[],
  readFloor?: () => number[],
): Figure {
  const over = (dividend: () => number[]) => () => divideRounds(dividend(), totalOf(rounds, divisor));
  return toFigure(name, { atMost }, over(read), readFloor && over(readFloor));
}

interface Compared extends Pick<Targets, 'nginx' | 'pipes' | 'edge'>, Partial<Peers> {
  /** The one whose router is compared. */
  router: Target;
}

/** Processor time of the router, and of edge and router, as multiples of what nginx and other gateways need; the bare pipes are the floor. */
export function compareOurs(
  title: string,
  rounds: Rounds<Record<string, number>>,
  { router, edge, pipes, nginx, portkey, litellm }: Compared,
  limits: { router?: number; both?: number; Portkey?: number; LiteLLM?: number } = {},
): Figure[] {
  const ours = () => edgeAndRouterOf(rounds, edge);
  const bothPipes = () => totalOf(rounds, pipes);
  const others = [
    { divisor: nginx, atMost: limits.both },
    { divisor: portkey, atMost: limits.Portkey },
    { divisor: litellm, atMost: limits.LiteLLM },
  ];
  return [
    toRatio(
      `${title}: router ÷ nginx`,
      { rounds, divisor: nginx, atMost: limits.router },
      () => partOf(rounds, router, 'router'),
      () => partOf(rounds, pipes, 'pipe'),
    ),
    ...others.flatMap(({ divisor, atMost }) =>
      divisor ? toRatio(`${title}: edge + router ÷ ${divisor.name}`, { rounds, divisor, atMost }, ours, bothPipes) : [],
    ),
  ];
}

/** Times of calls, ms. */
export type Latency = Record<'p50' | 'p99', number>;

export const toLatency = (sortedMs: readonly number[]): Latency => ({
  p50: percentile(sortedMs, 0.5),
  p99: percentile(sortedMs, 0.99),
});

/** Returns what a target adds to the times of the engine itself in each round. */
export const addedBy =
  (rounds: Rounds<Latency>, direct: Target) =>
  (target: Target, at: keyof Latency): number[] =>
    rounds.of(target).map((one, round) => one[at] - (rounds.of(direct)[round]?.[at] ?? Number.NaN));

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
