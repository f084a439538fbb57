import { sumOf } from '../calls/rounds.ts';
import { type Line, type Measured, toLine } from './curve.ts';
import type { CallCosts } from './measureCalls.ts';

/** Measures one size after the other, where there is no way back to a smaller one. */
export async function measureInOrder(
  sizes: number[],
  rounds: number,
  { grow, measure }: { grow: (size: number) => Promise<void>; measure: (size: number) => Promise<CallCosts> },
): Promise<Measured<CallCosts>> {
  const measured = new Map<number, CallCosts[]>();
  for (const size of sizes) {
    await grow(size);
    const ofSize: CallCosts[] = [];
    for (let round = 0; round < rounds; round += 1) ofSize.push(await measure(size));
    measured.set(size, ofSize);
  }
  return measured;
}

/** A line for what each of some groups of parts needs for a call. */
export const toLines = (measured: Measured<CallCosts>, groups: Record<string, readonly string[]>): Line[] =>
  Object.entries(groups).map(([name, parts]) => toLine(name, measured, ({ perCall }) => pick(perCall, parts)));

/** The sum of those parts whose name begins with one of these. */
export const pick = (costs: Record<string, number>, parts: readonly string[]): number =>
  sumOf(Object.fromEntries(Object.entries(costs).filter(([name]) => parts.some((part) => name.startsWith(part)))));

export const OF_CALLS = { router: ['router'], Redis: ['redis'], 'ledger + Postgres': ['ledger', 'postgres'] } as const;
