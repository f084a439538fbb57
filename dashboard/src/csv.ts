/** A cell whose text begins like this is a formula to a spreadsheet. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/u;

/**
 * Writes rows as CSV by RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe in front. Numbers are written as
 * they are.
 */
export function toCsv(rows: (string | number | bigint | { decimal: string })[][]): string {
  return rows.map((row) => `${row.map(toCell).join(',')}\r\n`).join('');
}

function toCell(value: string | number | bigint | { decimal: string }): string {
  if (typeof value === 'object') return value.decimal;
  if (typeof value !== 'string') return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
