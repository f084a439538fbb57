import { toPrintable, toWidth } from './toPrintable.ts';

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
