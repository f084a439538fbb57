import { describe, expect, it } from '@jest/globals';
import { findFaultsOfPage, findFaultsOfSource, findSubjectFault } from './findProseFaults.ts';

const words = (count: number) => `The${' word'.repeat(count - 1)}`;

describe('a source', () => {
  it.each(['What a pool has.', 'by whom a pool is closed', "It's closed.", 'Whoever asks.', 'Not yet.'])(
    'may not begin a comment with the first word of "%s"',
    (comment) => {
      expect(findFaultsOfSource(`a();\n// ${comment}\n`)).toEqual([{ kind: 'openers', line: 2, text: comment }]);
      expect(findFaultsOfSource(`/**\n * ${comment}\n */`)).toMatchObject([{ kind: 'openers', line: 2 }]);
    },
  );

  it.each([
    'Closes what it opened.',
    '`What`, as a type',
    'Asks the engine.',
    'Offsets by partition.',
    '@ts-expect-error as is',
  ])('may begin a comment with the first word of "%s"', (comment) => {
    expect(findFaultsOfSource(`// ${comment}\n`)).toEqual([]);
  });

  it('has sentences of 25 words at most in comments', () => {
    expect(findFaultsOfSource(`// ${words(25)}. ${words(25)}.`)).toEqual([]);
    expect(findFaultsOfSource(`/** Closes.\n * Waits. ${words(20)}\n * ${words(6)}. Ends. */`)).toEqual([
      { kind: 'longInComments', line: 2, text: `${words(20)} ${words(6)}.` },
    ]);
  });
});

describe('a page', () => {
  it('has sentences of 25 words at most', () => {
    expect(findFaultsOfPage(`# Page\n\nFirst.\n${words(26)}.\n`)).toEqual([
      { kind: 'longInPages', line: 4, text: `${words(26)}.` },
    ]);
  });

  it.each([
    ['two paragraphs', `${words(20)}\n\n${words(20)}`],
    ['two items', `- ${words(20)}\n- ${words(20)}`],
    ['two cells', `| ${words(20)} | ${words(20)} |`],
    ['a block of code', `\`\`\`sh\n${words(30)}\n\`\`\`\n${words(20)}`],
    ['a span of code', `${words(20)} \`${words(20)}. The end.\`.`],
  ])('may have more words in %s', (_case, page) => {
    expect(findFaultsOfPage(page)).toEqual([]);
  });

  it('has cells with sentences of 25 words at most', () => {
    expect(findFaultsOfPage(`| a | b |\n|---|---|\n| short | ${words(26)} |`)).toMatchObject([{ line: 3 }]);
  });
});

describe('the subject of a commit', () => {
  it.each(['edge: close idle sockets', 'auth, media-jobs: name the caller', `docs: ${'x'.repeat(66)}`])(
    'may be "%s"',
    (subject) => {
      expect(findSubjectFault(subject)).toBeUndefined();
    },
  );

  it.each([
    [`docs: ${'x'.repeat(67)}`, /has 73 characters/],
    ['Close idle sockets', /does not begin/],
    ['edge:close', /does not begin/],
    ['edge: close: now', /second colon/],
  ])('may not be "%s"', (subject, fault) => {
    expect(findSubjectFault(subject)).toMatch(fault);
  });
});
