import { expect, it } from '@jest/globals';
import { readComments } from './readComments.ts';

it.each([
  ['a line', '// Closes the pool.\nclose();', [{ line: 1, lines: ['Closes the pool.'] }]],
  ['adjacent lines as one comment', '\n  // Closes\n  // the pool.\n', [{ line: 2, lines: ['Closes', 'the pool.'] }]],
  [
    'a comment after code as one of its own',
    'a(); // First.\nb(); // Second.\n',
    [
      { line: 1, lines: ['First.'] },
      { line: 2, lines: ['Second.'] },
    ],
  ],
  ['a docstring', 'x;\n/**\n * Closes\n * the pool.\n */', [{ line: 2, lines: ['', 'Closes', 'the pool.', ''] }]],
  ['a comment in the expression of a template', `\`a\${ {b: 1 /* In it. */} }//\``, [{ line: 1, lines: ['In it.'] }]],
  ['a comment behind a division', 'a / b; // Half.', [{ line: 1, lines: ['Half.'] }]],
  ['a comment behind a regular expression', "x.match(/['/*]\\/[/]/u); // Matched.", [{ line: 1, lines: ['Matched.'] }]],
])('reads %s', (_case, source, comments) => {
  expect(readComments(source)).toEqual(comments);
});

it.each([
  ["'// no'"],
  ['"/* no */"'],
  ['"\\"// no"'],
  [`\`// no \${a} // no\``],
  [`\`\${\`// \${b} //\`} /* no */\``],
  ['`\\`// no`'],
  ['return /[//]/;'],
  ['const url = /https?:\\/\\//u;'],
])('reads no comment in %s', (source) => {
  expect(readComments(source)).toEqual([]);
});
