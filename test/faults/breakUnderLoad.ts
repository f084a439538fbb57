import { setTimeout as pause } from 'node:timers/promises';
import type { CellContext } from './cellContext.ts';
import type { Fault } from './fault.ts';
import type { CallRecord } from './load/callRecord.ts';
import type { LoadOptions } from './load/startLoad.ts';

export interface Breakage {
  fault: Fault;
  /** How long it stays broken. */
  forMs: number;
  /** How often it is broken and mended in one run; once where it is not given. */
  times?: number;
  /** The load, where it is not the usual one. */
  load?: Partial<LoadOptions>;
}

/**
 * Sends the cell's calls, and breaks and mends the stack on the way, the first time at a drawn moment. Resolves with every
 * call when all have ended and the stack serves again.
 */
export async function breakUnderLoad(
  context: CellContext,
  { fault, forMs, times = 1, load: options }: Breakage,
): Promise<readonly CallRecord[]> {
  const load = context.startLoad({ calls: context.calls, ...options });
  for (let round = 0; round < times; round += 1) {
    await load.untilSent(Math.floor(context.calls * ((round + 0.2 + context.random.share() * 0.3) / times)));
    await fault.strike(context);
    await pause(forMs);
    await fault.repair(context);
    await context.repaired();
  }
  return load.done;
}
