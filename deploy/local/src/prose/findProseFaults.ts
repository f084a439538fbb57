import { readComments } from './readComments.ts';

/** The kinds of fault that are counted; `docs/contribute/style.md` has the rules. */
export type FaultKind = 'openers' | 'longInComments' | 'longInPages';

export interface ProseFault {
  kind: FaultKind;
  line: number;
  text: string;
}

const MAX_WORDS = 25;
const MAX_SUBJECT_LENGTH = 72;
const OPENER = /^(?:What|Whatever|Whoever|Who|Of|By|Where|Has|As|Not|It|That|Nobody)\b/i;
/** Comments for tools. */
const DIRECTIVE = /^(?:biome-|@ts-|\/\s*<|!)/;

/** Finds comments with a forbidden first word, and long sentences, in a TypeScript or JavaScript source. */
export function findFaultsOfSource(source: string): ProseFault[] {
  return readComments(source).flatMap(({ line, lines }) => {
    const first = lines.findIndex((text) => text !== '');
    const opening = lines[first] ?? '';
    if (DIRECTIVE.test(opening)) return [];
    const openers: ProseFault[] = OPENER.test(opening) ? [{ kind: 'openers', line: line + first, text: opening }] : [];
    return [
      ...openers,
      ...findLongSentences(lines, line).map((found) => ({ kind: 'longInComments' as const, ...found })),
    ];
  });
}

/** Finds long sentences in a Markdown page, outside of code blocks. */
export function findFaultsOfPage(page: string): ProseFault[] {
  return findLongSentences(page.split('\n'), 1).map((found) => ({ kind: 'longInPages', ...found }));
}

/** Returns the complaint about a commit's subject, or undefined for `area: what it does` in 72 characters. */
export function findSubjectFault(subject: string): string | undefined {
  if (subject.length > MAX_SUBJECT_LENGTH)
    return `has ${subject.length} characters, ${MAX_SUBJECT_LENGTH} at most are allowed`;
  if (!/^[\w.-]+(?:, [\w.-]+)*: \S/.test(subject)) return 'does not begin with "area: "';
  if (subject.split(': ').length > 2) return 'has a second colon';
  return undefined;
}

/** A paragraph, list item or table cell: its lines joined by spaces, and where each begins in the text. */
interface Block {
  text: string;
  starts: { at: number; line: number }[];
}

function findLongSentences(lines: string[], firstLine: number): { line: number; text: string }[] {
  return readBlocks(lines, firstLine).flatMap(({ text, starts }) => {
    // A code span is one word: a word joiner replaces each space and full stop in it, so that positions stay.
    const words = text.replace(/`[^`]*`/g, (code) => code.replace(/[\s.!?]/g, '\u2060'));
    return [...words.matchAll(/\S.*?(?:[.!?][)"'*_]*(?=\s+[^\p{Ll}\s])|$)/gu)]
      .filter(([sentence]) => sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}`]/u.test(word)).length > MAX_WORDS)
      .map(({ index, 0: sentence }) => ({
        line: starts.findLast(({ at }) => at <= index)?.line ?? firstLine,
        text: text.slice(index, index + sentence.length),
      }));
  });
}

function readBlocks(lines: string[], firstLine: number): Block[] {
  const blocks: Block[] = [];
  let open: Block | undefined;
  let isCode = false;
  const add = (text: string, line: number) => {
    if (!open) {
      open = { text: '', starts: [] };
      blocks.push(open);
    }
    const separator = open.text === '' ? '' : ' ';
    open.starts.push({ at: open.text.length + separator.length, line });
    open.text += separator + text;
  };
  for (const [index, raw] of lines.entries()) {
    const line = firstLine + index;
    const text = raw.trim().replace(/^(?:> ?)+/, '');
    if (text.startsWith('```')) {
      isCode = !isCode;
      open = undefined;
    } else if (isCode || text === '' || text.startsWith('#') || text.startsWith('<!--')) {
      open = undefined;
    } else if (text.startsWith('|')) {
      for (const cell of text.split(/(?<!\\)\|/)) {
        open = undefined;
        if (cell.trim() !== '') add(cell.trim(), line);
      }
      open = undefined;
    } else {
      const item = /^(?:[-*]|\d+\.|@\w+)\s+(?=\S)/.exec(text);
      if (item) open = undefined;
      add(text.slice(item?.[0].length ?? 0), line);
    }
  }
  return blocks;
}
