import { describe, expect, it } from '@jest/globals';
import type { Cell } from '../cell.ts';
import type { CellResult } from './cellResult.ts';
import { formatResult, formatTotals, toExitCode } from './formatResult.ts';

const aResult = (name: string, difference: Partial<CellResult> = {}): CellResult => ({
  cell: {
    group: 'router',
    name,
    breaks: '',
    holds: '',
    eventLog: 'embedded',
    run: async () => undefined,
  } satisfies Cell,
  seed: 1,
  calls: 10,
  lost: 0,
  doubled: 0,
  difference: 0n,
  recoveryMs: undefined,
  closedMs: undefined,
  tookMs: 1_000,
  problems: [],
  notTested: undefined,
  notes: [],
  logs: undefined,
  ...difference,
});
const passed = aResult('router-kill');
const notTested = aResult('disk-full', { notTested: 'a small disk. Run the cell as root.' });
const failed = aResult('router-freeze', { problems: ['a row is missing'] });

describe('the report of a fault run', () => {
  it('says loudly that a fault could not be injected, and what is missing', () => {
    expect(formatResult(notTested)).toMatch(
      /disk-full.*NOT TESTED\n {4}NOT TESTED: a small disk\. Run the cell as root\.$/,
    );
    expect(formatResult(passed)).toMatch(/ok$/);
  });

  it('counts a cell that is not tested apart from those that passed', () => {
    expect(formatTotals([passed, passed], 61_000)).toContain('2 cells, 20 calls');
    expect(formatTotals([passed, passed], 61_000)).toContain('; all passed; 1 min 1 s');
    expect(formatTotals([passed, notTested, failed], 0)).toContain(
      '; 1 passed; 1 FAILED: router-freeze; 1 NOT TESTED: disk-full; ',
    );
  });

  it('fails a cell that found a problem before it was not tested', () => {
    expect(formatResult({ ...notTested, problems: ['a row is missing'] })).toContain('FAILED');
  });

  it.each([
    ['all passed', [passed], 0, 0],
    ['one is not tested', [passed, notTested], 0, 1],
    ['one failed', [passed, failed], 1, 1],
  ] as const)('ends with the right exit code where %s', (_case, results, usual, required) => {
    expect(toExitCode(results, { requireAll: false })).toBe(usual);
    expect(toExitCode(results, { requireAll: true })).toBe(required);
  });
});
