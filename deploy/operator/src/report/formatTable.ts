export interface Column {
  title: string;
  /** Numbers are aligned to the right. */
  isNumber?: boolean;
}

/** Rows as aligned columns, indented by two, below their titles where there are any. */
export function formatTable(
  rows: string[][],
  { columns = [], heading = (text) => text }: { columns?: Column[]; heading?: (text: string) => string } = {},
): string {
  const titles = columns.map(({ title }) => title);
  const cells = rows.map((row) => row.map(toPrintable));
  const all = titles.length > 0 ? [titles, ...cells] : cells;
  const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => toWidth(row[column] ?? ''))));
  const align = (row: string[]): string => {
    const padded = row.map((cell, column) => {
      const padding = ' '.repeat((widths[column] ?? 0) - toWidth(cell));
      return columns[column]?.isNumber ? padding + cell : cell + padding;
    });
    return `  ${padded.join('  ')}`.trimEnd();
  };
  const lines = cells.map(align);
  return (titles.length > 0 ? [heading(align(titles)), ...lines] : lines).join('\n');
}

/** Characters that steer a terminal or turn the direction of what follows. */
const STEERING = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** Makes a text of a customer, such as the name of a key, harmless to the terminal that shows it. */
export const toPrintable = (text: string): string => text.replace(STEERING, '\ufffd');

const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]/u;
const graphemes = new Intl.Segmenter();

/** Columns that a printable text takes on a terminal. */
function toWidth(text: string): number {
  return [...graphemes.segment(text)].reduce((width, { segment }) => width + (WIDE.test(segment) ? 2 : 1), 0);
}
