import { print, runCommand } from '@turnpike/local-stack/runCommand';
import { StackError } from '@turnpike/local-stack/stackError';
import type { Cell } from './cell.ts';
import { checkOutRelease } from './checkOutRelease.ts';
import { CELLS, chooseCells } from './findCells.ts';
import { FAULTS_USAGE, parseFaultArguments } from './parseFaultArguments.ts';
import type { CellResult } from './report/cellResult.ts';
import { formatHeader, formatReconciliation, formatResult, formatTotals, toExitCode } from './report/formatResult.ts';
import { ProgressLine } from './report/progressLine.ts';
import { Lane, type LaneOptions } from './runLane.ts';
import type { Reconciliation } from './stack/reconcile.ts';

const CALLS = 1_000;
const FULL_CALLS = 10_000;

/** `npm run faults`: runs the chosen cells, two stacks side by side, and prints a line for each. */
async function main(): Promise<number> {
  const { patterns, full, seed, cluster, from, list, help } = parseFaultArguments(process.argv.slice(2));
  if (help) return print(FAULTS_USAGE);
  const chosen = chooseCells(CELLS, patterns);
  if (list) return print(formatList(chosen));
  const cells = chosen.filter(
    ({ name, notOnCluster, startsOnRelease, isDrawn }) =>
      !(cluster && notOnCluster !== undefined) &&
      !(startsOnRelease && from === undefined) &&
      (full || patterns.includes(name) || isDrawn?.(seed) !== false),
  );
  if (cells.length === 0)
    throw new StackError('What was chosen runs with --full or --from REF alone, or without --cluster: see --list.');
  const releaseRoot = from === undefined ? undefined : await checkOutRelease(from);
  return runCells(cells, { seed, cluster, releaseRoot, calls: full ? FULL_CALLS : CALLS, signal: untilToldToStop() });
}

async function runCells(
  cells: readonly Cell[],
  options: Pick<LaneOptions, 'seed' | 'cluster' | 'releaseRoot' | 'calls' | 'signal'>,
): Promise<number> {
  const startedAt = performance.now();
  const results: CellResult[] = [];
  const onResult = (result: CellResult): void => {
    results.push(result);
    progress.print(formatResult(result));
  };
  let agree = true;
  const onReconciled = (stack: string, reconciliation: Reconciliation): void => {
    agree &&= reconciliation.agree;
    progress.print(formatReconciliation(stack, reconciliation));
  };
  const inTurn = [...cells].sort((a, b) => turnOf(a) - turnOf(b));
  const lanes = (['kafka', 'embedded'] as const)
    .map((eventLog) => inTurn.filter((cell) => cell.eventLog === eventLog))
    .filter((laneCells) => laneCells.length > 0)
    .map((laneCells) => new Lane({ ...options, cells: laneCells, onResult, onReconciled }));
  const progress = new ProgressLine(process.stdout, () => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    return `${results.length} of ${cells.length} done, ${seconds} s · ${lanes.map((lane) => lane.describe()).join(' · ')}`;
  });
  progress.print(formatHeader());
  const runs = await Promise.allSettled(lanes.map((lane) => lane.run()));
  progress.close();
  const failure = runs.find((run) => run.status === 'rejected');
  if (failure) throw failure.reason;
  print(formatTotals(results, performance.now() - startedAt));
  if (results.length < cells.length || !agree) return 1;
  return toExitCode(results, { requireAll: process.env.REQUIRE_FAULTS === '1' });
}

/** The healthy stack first, and last the cells with settings of their own, which end the stack that the others share. */
function turnOf({ group, serviceSettings }: Cell): number {
  if (serviceSettings) return 2;
  return group === 'healthy' ? 0 : 1;
}

function formatList(cells: readonly Cell[]): string {
  return cells
    .map(
      ({ group, name, breaks, holds, notOnCluster, startsOnRelease, isDrawn }) =>
        `${group.padEnd(9)} ${name}\n            breaks: ${breaks}\n            holds:  ${holds}${notOnCluster ? `\n            not on a cluster: ${notOnCluster}` : ''}${startsOnRelease ? '\n            only with --from REF' : ''}${isDrawn ? '\n            by its name, with --full, or with some seeds' : ''}`,
    )
    .join('\n');
}

/** Ctrl-C, a terminal that closes, and the end of the process that started this one all mean the same, however often. */
function untilToldToStop(): AbortSignal {
  const told = new AbortController();
  for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect'])
    process.on(event, () => told.abort(new StackError('Stopped before every cell had run.')));
  return told.signal;
}

runCommand(main);
