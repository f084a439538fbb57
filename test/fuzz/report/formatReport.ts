import type { Draw } from '../cases/drawCase.ts';
import { describeCase } from '../cases/fuzzCase.ts';
import type { FindingGroup } from '../run/finding.ts';
import type { FuzzResult, FuzzTally } from '../run/runFuzz.ts';

const toSeconds = (durationMs: number): string => `${(durationMs / 1_000).toFixed(1)} s`;

/** `200: 5123, 400: 8000`, most frequent first. */
const formatStatuses = (statuses: ReadonlyMap<string, number>): string =>
  [...statuses]
    .sort(([, a], [, b]) => b - a)
    .map(([status, count]) => `${status}: ${count}`)
    .join(', ');

/** One line of how far a run is. */
export function formatProgress(
  { done, statuses, findings }: FuzzTally,
  { cases, tookMs }: { cases: number; tookMs: number },
): string {
  const rate = Math.round((done / tookMs) * 1_000);
  return `${done} of ${cases} cases, ${rate} a second · ${formatStatuses(statuses)} · ${findings} findings`;
}

/** The table at the end of a run, and below it each finding with the smallest case that shows it. */
export function formatReport(
  result: FuzzResult,
  { draw, tookMs, bookProblems }: { draw: Draw; tookMs: number; bookProblems: readonly string[] },
): string {
  const answers = [...result.statuses.values()].reduce((sum, count) => sum + count, 0);
  const rows = [
    ['seed', `${draw.seed} of ${draw.of}`],
    ['cases', String(result.done)],
    ['requests', `${answers}, what was tried again included`],
    ['took', `${toSeconds(tookMs)}, ${Math.round((result.done / tookMs) * 1_000)} cases a second`],
    ['statuses', formatStatuses(result.statuses)],
    ['longest block', `${Math.round(result.longestBlockedMs)} ms of an event loop`],
    ['unsteady', `${result.unsteady}, gone when sent alone: the machine was busy`],
    ['books', bookProblems.length === 0 ? `whole: ${result.servedCallIds.length} calls served and recorded` : 'WRONG'],
    ['findings', result.findings === 0 ? 'none' : `${result.findings} OF ${result.groups.length} KINDS`],
  ];
  const table = rows.map(([name = '', value]) => `${name.padEnd(14)}${value}`);
  return [
    ...table,
    ...bookProblems.map((problem) => `  ${problem}`),
    ...result.groups.map((group) => formatFinding(group, draw)),
  ].join('\n');
}

/** How to see it again, and the smallest input. */
export function formatFinding({ index, count, problem, smallest, drawn }: FindingGroup, { seed, of }: Draw): string {
  const shown = smallest ?? drawn;
  const note = smallest ? 'smallest case:' : 'did not come again when sent alone; as it was drawn:';
  return [
    '',
    `${problem.kind}: ${problem.text} (${count} times)`,
    `  npm run fuzz -- --of ${of} --seed ${seed} --replay ${index}`,
    `  ${note}`,
    ...describeCase(shown)
      .split('\n')
      .map((line) => `    ${line}`),
  ].join('\n');
}
