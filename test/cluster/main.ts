import { constants, setPriority } from 'node:os';
import { print, runCommand } from '@turnpike/local-stack/runCommand';
import { StackError } from '@turnpike/local-stack/stackError';
import { ProgressLine } from '../faults/report/progressLine.ts';
import type { Cell } from './cell.ts';
import { CELLS } from './cells.ts';
import { parseSuiteArguments, SUITE_USAGE } from './parseSuiteArguments.ts';
import { runCell } from './runCell.ts';

/** `npm run cluster -- test`: runs the chosen cells one after the other, and says of each what it measured and whether it passed. */
async function main(): Promise<number> {
  const { cells: names, seed, list, help } = parseSuiteArguments(process.argv.slice(2));
  if (help) return print(SUITE_USAGE);
  const cells = chooseCells(names);
  if (list)
    return print(cells.map(({ name, does, holds }) => `${name}\n  does:  ${does}\n  holds: ${holds}`).join('\n'));

  // The load is to keep its pace beside all pods, which weigh as much as 64 processes together. Without root there is no cluster.
  if (process.getuid?.() === 0) setPriority(constants.priority.PRIORITY_HIGHEST);
  const startedAt = performance.now();
  let doing = '';
  const progress = new ProgressLine(process.stdout, () => `${toSeconds(performance.now() - startedAt)} · ${doing}`);
  const failed: string[] = [];
  const sayDoing = (what: string): void => {
    doing = what;
  };
  for (const cell of cells) {
    sayDoing(cell.name);
    const { notes, problems, tookMs } = await runCell(cell, { seed, doing: sayDoing });
    if (problems.length > 0) failed.push(cell.name);
    progress.print(`${cell.name.padEnd(20)} ${problems.length === 0 ? 'ok' : 'FAILED'}  ${toSeconds(tookMs)}`);
    for (const line of [...notes, ...problems]) progress.print(`    ${line}`);
  }
  progress.close();
  const verdict = failed.length === 0 ? 'all passed' : `${failed.length} FAILED: ${failed.join(', ')}`;
  print(`${cells.length} cells; ${verdict}; ${toSeconds(performance.now() - startedAt)}`);
  return failed.length === 0 ? 0 : 1;
}

function chooseCells(names: readonly string[]): readonly Cell[] {
  if (names.length === 0) return CELLS;
  return names.map((name) => {
    const cell = CELLS.find((candidate) => candidate.name === name);
    if (!cell)
      throw new StackError(`No cell is called "${name}". There are: ${CELLS.map((each) => each.name).join(', ')}.`);
    return cell;
  });
}

const toSeconds = (durationMs: number): string => `${(durationMs / 1_000).toFixed(1)} s`;

runCommand(main);
