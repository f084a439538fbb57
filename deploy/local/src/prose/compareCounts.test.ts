import { expect, it } from '@jest/globals';
import { compareCounts, countFaults, type LocatedFault } from './compareCounts.ts';

const opener = (path: string, line: number): LocatedFault => ({ kind: 'openers', path, line, text: 'What it is.' });
const FAULTS = [opener('libs/money/src/a.ts', 1), opener('libs/money/src/b.ts', 7), opener('test/x.test.ts', 3)];
const changedAt = (path: string) => (path.endsWith('b.ts') ? 2 : 1);

it('counts by the first two folders of a source, and by page', () => {
  const long: LocatedFault = { kind: 'longInPages', path: 'docs/clients.md', line: 1, text: 'The end.' };
  expect(countFaults([...FAULTS, long])).toEqual({
    openers: { 'libs/money': 2, test: 1 },
    longInComments: {},
    longInPages: { 'docs/clients.md': 1 },
  });
});

it('has no complaint where each count is the one of the file', () => {
  const counts = countFaults(FAULTS);
  expect(compareCounts(counts, counts, FAULTS, changedAt)).toEqual({ risen: [], fallen: [] });
});

it('complains of a count that rose, with the newest file first', () => {
  const limits = { ...countFaults(FAULTS), openers: { 'libs/money': 1, test: 1 } };
  expect(compareCounts(countFaults(FAULTS), limits, FAULTS, changedAt).risen).toEqual([
    expect.stringMatching(/^libs\/money has 2 openers, 1 are allowed: begin /),
    '  libs/money/src/b.ts:7 What it is.',
    '  libs/money/src/a.ts:1 What it is.',
  ]);
});

it('complains of a room that the file does not have', () => {
  const limits = { ...countFaults(FAULTS), openers: { 'libs/money': 2 } };
  expect(compareCounts(countFaults(FAULTS), limits, FAULTS, changedAt).risen).toHaveLength(2);
});

it('names a count that fell', () => {
  const limits = { ...countFaults(FAULTS), openers: { 'libs/money': 5, 'libs/gone': 1, test: 1 } };
  expect(compareCounts(countFaults(FAULTS), limits, FAULTS, changedAt)).toEqual({
    risen: [],
    fallen: ['openers libs/money 2 of 5', 'openers libs/gone 0 of 1'],
  });
});
