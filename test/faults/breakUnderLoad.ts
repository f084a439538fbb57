import { setTimeout as pause } from 'node:timers/promises';
import type { CellContext } from './cellContext.ts';
import type { CallRecord } from './load/callRecord.ts';
import type { LoadOptions } from './load/startLoad.ts';

export interface Breakage {
  /** The load, where it is not the usual one. */
  load?: Partial<LoadOptions>;
  /** Breaks something while calls run. */
  strike: () => Promise<void>;
  /** How long it stays broken. */
  forMs: number;
  /** Mends it. */
  repair: () => Promise<void>;
  /** How often all of that is done in one run. */
  times?: number;
}

/**
 * Sends the cell's calls, and breaks and mends the stack on the way, the first time at a drawn moment. Resolves with every
 * call when all have ended and the stack serves again.
 */
export async function breakUnderLoad(
  context: CellContext,
  { load: options, strike, forMs, repair, times = 1 }: Breakage,
): Promise<readonly CallRecord[]> {
  const load = context.startLoad({ calls: context.calls, ...options });
  for (let round = 0; round < times; round += 1) {
    await load.untilSent(Math.floor(context.calls * ((round + 0.2 + context.random.share() * 0.3) / times)));
    await strike();
    await pause(forMs);
    await repair();
    await context.repaired();
  }
  return load.done;
}
