import type { Reconciliation } from '../stack/reconcile.ts';
import type { CellResult } from './cellResult.ts';

const COLUMNS = [
  { title: 'group', width: 8 },
  { title: 'cell', width: 26 },
  { title: 'seed', width: 6, right: true },
  { title: 'calls', width: 6, right: true },
  { title: 'lost', width: 5, right: true },
  { title: 'doubled', width: 7, right: true },
  { title: 'nano-USD apart', width: 14, right: true },
  { title: 'recovery', width: 8, right: true },
  { title: 'books', width: 7, right: true },
  { title: 'took', width: 7, right: true },
  { title: '', width: 10 },
] as const;

const toSeconds = (durationMs: number | undefined): string =>
  durationMs === undefined ? '–' : `${(durationMs / 1_000).toFixed(1)} s`;

function formatRow(cells: readonly string[]): string {
  return COLUMNS.map((column, index) => {
    const text = cells[index] ?? '';
    return 'right' in column ? text.padStart(column.width) : text.padEnd(column.width);
  })
    .join('  ')
    .trimEnd();
}

export function formatHeader(): string {
  return formatRow(COLUMNS.map(({ title }) => title));
}

/** One line, and one more for each thing that is wrong. */
export function formatResult(result: CellResult): string {
  const { cell, seed, calls, lost, doubled, difference, recoveryMs, closedMs, tookMs, notTested, notes, logs } = result;
  const row = formatRow([
    cell.group,
    cell.name,
    String(seed),
    String(calls),
    String(lost),
    String(doubled),
    String(difference),
    toSeconds(recoveryMs),
    toSeconds(closedMs),
    toSeconds(tookMs),
    toVerdict(result),
  ]);
  const missing = notTested === undefined ? [] : [`NOT TESTED: ${notTested}`];
  const lines = [...notes, ...missing, ...result.problems].map((line) => `    ${line}`);
  return [row, ...lines, ...(logs === undefined ? [] : [`    logs: ${logs}`])].join('\n');
}

function toVerdict({ problems, notTested }: CellResult): string {
  if (problems.length > 0) return 'FAILED';
  return notTested === undefined ? 'ok' : 'NOT TESTED';
}

/** The verdict, and all that was found where the books do not agree. */
export function formatReconciliation(stack: string, { agree, report }: Reconciliation): string {
  const verdict = report.split('\n').at(-1)?.trim();
  return agree ? `turnpike reconcile, ${stack}: ${verdict}` : `turnpike reconcile, ${stack}: FAILED\n${report}`;
}

/** The last line of a run. */
export function formatTotals(results: readonly CellResult[], tookMs: number): string {
  const failed = results.filter(({ problems }) => problems.length > 0);
  const sum = (read: (result: CellResult) => number): number =>
    results.reduce((total, result) => total + read(result), 0);
  const apart = results.reduce((total, { difference }) => total + difference, 0n);
  const notTested = results.filter((result) => toVerdict(result) === 'NOT TESTED');
  const counts = `${results.length} cells, ${sum(({ calls }) => calls)} calls: ${sum(({ lost }) => lost)} lost, ${sum(({ doubled }) => doubled)} doubled, ${apart} nano-dollars apart`;
  const passed = results.length - failed.length - notTested.length;
  const verdict = [
    failed.length + notTested.length === 0 ? 'all passed' : `${passed} passed`,
    ...nameCells('FAILED', failed),
    ...nameCells('NOT TESTED', notTested),
  ].join('; ');
  return `${counts}; ${verdict}; ${Math.floor(tookMs / 60_000)} min ${Math.round((tookMs % 60_000) / 1_000)} s`;
}

function nameCells(verdict: string, results: readonly CellResult[]): string[] {
  return results.length === 0
    ? []
    : [`${results.length} ${verdict}: ${results.map(({ cell }) => cell.name).join(', ')}`];
}

/**
 * Exit code of a run: 0 if each chosen cell passed. A cell that is not tested makes it 1 only where `requireAll` is set, because
 * most machines cannot inject every fault.
 */
export function toExitCode(results: readonly CellResult[], { requireAll }: { requireAll: boolean }): 0 | 1 {
  return results.every((result) => toVerdict(result) === 'ok' || (!requireAll && toVerdict(result) === 'NOT TESTED'))
    ? 0
    : 1;
}
