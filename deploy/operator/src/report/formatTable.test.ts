import { expect, it } from '@jest/globals';
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
