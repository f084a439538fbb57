import { expect, it } from '@jest/globals';
import { fitTerminal } from './fitTerminal.ts';
import { formatTable } from './formatTable.ts';

it('aligns columns below their titles, numbers to the right', () => {
  const columns = [{ title: 'id' }, { title: 'USD', isNumber: true }];
  const rows = [
    ['key_longer', '0.5'],
    ['key_a', '12.25'],
  ];
  expect(formatTable(rows, { columns })).toBe('  id            USD\n  key_longer    0.5\n  key_a       12.25');
});

it('shows names that would steer the terminal as what they are', () => {
  const shown = formatTable([['\u001b[2Jinvisible\r\n', '\u202edesrever']]);
  expect(shown).toBe('  \ufffd[2Jinvisible\ufffd\ufffd  \ufffddesrever');
});

it('keeps columns aligned beside characters that are two columns wide', () => {
  expect(
    formatTable([
      ['日本😀', 'a'],
      ['abcdefg', 'b'],
    ]),
  ).toBe('  日本😀   a\n  abcdefg  b');
});

it('fits a text into a terminal: its first lines, each with its beginning, and how many lines are left', () => {
  const lines = Array.from({ length: 30 }, (_, index) => `row ${index} ${'x'.repeat(100)}`);
  const fitted = fitTerminal(['\u001b[1mhead\u001b[22m', ...lines].join('\n'), { columns: 20, rows: 10 }).split('\n');
  expect(fitted).toHaveLength(9);
  expect(fitted.slice(0, 2)).toEqual(['\u001b[1mhead\u001b[22m', `row 0 ${'x'.repeat(13)}\u2026`]);
  expect(fitted.at(-1)).toBe('  And 23 lines more.');
  expect(fitTerminal('short\ntext', { columns: 20, rows: 10 })).toBe('short\ntext');
});
