/** Rows as aligned columns, two spaces apart and indented by two. Columns named in `right` are aligned to the right. */
export function formatTable(rows: string[][], { right = [] }: { right?: number[] } = {}): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => {
      const cells = row.map((cell, column) =>
        right.includes(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      );
      return `  ${cells.join('  ')}`.trimEnd();
    })
    .join('\n');
}
