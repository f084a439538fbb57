import { sumOf } from '../calls/rounds.ts';
import type { CallCosts } from './measureCalls.ts';
import { DOES_NOT_BEND, type Line } from './plot.ts';

/** The measurements of each round, by size. */
export type Measured = Map<number, CallCosts[]>;

/** Measures every size once a round, in one order and then in the other. */
export async function measureByTurns(
  sizes: number[],
  rounds: number,
  measure: (size: number, round: number) => Promise<CallCosts>,
): Promise<Measured> {
  const measured: Measured = new Map(sizes.map((size) => [size, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const size of round % 2 === 0 ? sizes : sizes.toReversed())
      measured.get(size)?.push(await measure(size, round));
  return measured;
}

/** Measures one size after the other, where there is no way back to a smaller one. */
export async function measureInOrder(
  sizes: number[],
  rounds: number,
  { grow, measure }: { grow: (size: number) => Promise<void>; measure: (size: number) => Promise<CallCosts> },
): Promise<Measured> {
  const measured: Measured = new Map();
  for (const size of sizes) {
    await grow(size);
    const ofSize: CallCosts[] = [];
    for (let round = 0; round < rounds; round += 1) ofSize.push(await measure(size));
    measured.set(size, ofSize);
  }
  return measured;
}

/** A line for what each of some groups of parts needs for a call. */
export const toLines = (measured: Measured, groups: Record<string, readonly string[]>): Line[] =>
  Object.entries(groups).map(([name, parts]) => toLine(name, measured, ({ perCall }) => pick(perCall, parts)));

export const toLine = (name: string, measured: Measured, read: (costs: CallCosts, size: number) => number): Line => ({
  name,
  unit: 'µs',
  atMost: DOES_NOT_BEND,
  points: [...measured].map(([size, costs]) => ({ size, rounds: costs.map((each) => read(each, size)) })),
});

/** The sum of those parts whose name begins with one of these. */
export const pick = (costs: Record<string, number>, parts: readonly string[]): number =>
  sumOf(Object.fromEntries(Object.entries(costs).filter(([name]) => parts.some((part) => name.startsWith(part)))));

export const OF_CALLS = { router: ['router'], Redis: ['redis'], 'ledger + Postgres': ['ledger', 'postgres'] } as const;
