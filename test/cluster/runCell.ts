import { readClusterFile } from '@turnpike/cluster/describeCluster';
import { STACK_FILE } from '@turnpike/cluster/paths';
import type { Region } from '@turnpike/config/region';
import { ProblemList } from '../faults/books/problemList.ts';
import { CellContext } from '../faults/cellContext.ts';
import { createRandom } from '../faults/load/random.ts';
import { reconcile } from '../faults/stack/reconcile.ts';
import type { Cell, RegionContext, Suite } from './cell.ts';
import { openRegion, type RegionStack } from './region/openRegion.ts';

export interface CellResult {
  name: string;
  /** The measurements. */
  notes: string[];
  /** The problems; none if the cell passed. */
  problems: string[];
  tookMs: number;
}

/** Calls of a cell's load by default. */
const CALLS = 1_000;

/** Runs a cell, closes the books that it opened, and leaves every region ready. Never rejects. */
export async function runCell(cell: Cell, { seed, doing }: Pick<Suite, 'seed' | 'doing'>): Promise<CellResult> {
  const startedAt = performance.now();
  const problems = new ProblemList();
  const notes: string[] = [];
  const opened = new Map<Region, { stack: RegionStack; context: RegionContext }>();
  const note = (line: string): void => void notes.push(line);
  const suite: Suite = {
    seed,
    doing,
    note,
    check(isRight, what) {
      if (!isRight) problems.add(what);
    },
    async openBooks(region) {
      const stack = await openRegion(region, (await readClusterFile()).regions[region]);
      await stack.untilReady();
      await stack.findSimulators();
      await Promise.all([...stack.simulators, ...stack.mediaBackends].map((simulator) => simulator.mend()));
      const context = await CellContext.open(stack, { random: createRandom(seed), calls: CALLS });
      opened.set(region, { stack, context });
      return context;
    },
  };
  try {
    await cell.run(suite);
  } catch (error) {
    problems.add(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  for (const [region, { stack, context }] of opened) {
    doing(`${cell.name}: closing the books of ${region}`);
    await closeBooks(region, { context, note, problems });
    await stack.close();
  }
  return { name: cell.name, notes, problems: problems.toLines(), tookMs: performance.now() - startedAt };
}

/** Says what the books of a region came to, and what `turnpike reconcile` says of all of them. */
async function closeBooks(
  region: Region,
  { context, note, problems }: { context: RegionContext; note: (line: string) => void; problems: ProblemList },
): Promise<void> {
  try {
    context.stopLoads(); // the cell may have ended in an error
    await context.stack.untilReady();
    const { lost, doubled, difference, closedMs, problems: found } = await context.closeBooks();
    for (const problem of found) problems.add(`${region}: ${problem}`);
    note(
      `${region}: ${context.sent} calls, ${lost} lost, ${doubled} doubled, ${difference} nano-dollars apart; books whole after ${(closedMs / 1_000).toFixed(1)} s`,
    );
    const { agree, report } = await reconcile(STACK_FILE, { region });
    note(`${region}: turnpike reconcile: ${report.split('\n').at(-1)?.trim()}`);
    if (!agree) problems.add(`${region}: the books do not reconcile`, report);
  } catch (error) {
    problems.add(`${region}: the books could not be closed`, error instanceof Error ? error.message : String(error));
  }
}
