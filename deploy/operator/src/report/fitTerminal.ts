/**
 * Cuts a text so that a terminal shows its beginning. Lines that are too long lose their end, and the last row counts the lines that have
 * no room. ANSI codes of a heading take no columns and are kept.
 */
export function fitTerminal(text: string, { columns = 80, rows = 24 }: { columns?: number; rows?: number }): string {
  const lines = text.split('\n');
  const shown = lines.length < rows ? lines : lines.slice(0, rows - 2);
  const left = lines.length - shown.length;
  return [...shown.map((line) => cut(line, columns)), ...(left > 0 ? [`  And ${left} lines more.`] : [])].join('\n');
}

/** A code that sets the style of text, as a heading has. */
const STYLE = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

function cut(line: string, columns: number): string {
  const plain = line.replace(STYLE, '');
  if (plain.length <= columns) return line;
  const codes = line.match(STYLE) ?? [];
  const kept = `${plain.slice(0, columns - 1)}\u2026`;
  return codes.length > 0 ? `${codes[0]}${kept}${codes.at(-1)}` : kept;
}
