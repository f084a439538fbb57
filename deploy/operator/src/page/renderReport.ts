import { type Html, html } from '@turnpike/http-service/html';
import type { Context, Report } from '../cli/command.ts';
import { type Column, toPrintable } from '../report/formatTable.ts';

/** Stands for a table in the text of a report. */
const MARK = /^\{table (\d+)\}$/;

/** Makes the text of a report as markup: its tables, and a paragraph for each other line. */
export async function renderReport(
  report: (table: Context['table']) => Promise<Report>,
  { label }: { label: string },
): Promise<{ markup: string; isFailure: boolean }> {
  const tables: Html[] = [];
  const {
    text,
    isFailure = false,
    wantsLook = false,
  } = await report((columns, rows) => {
    tables.push(toTable(label, columns, rows));
    return `{table ${tables.length - 1}}`;
  });
  const blocks = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => tables[Number(MARK.exec(line)?.[1])] ?? html`<p>${toPrintable(line)}</p>`);
  return { markup: html`${blocks}`.text, isFailure: isFailure || wantsLook };
}

function toTable(label: string, columns: Column[], rows: string[][]): Html {
  const classOf = (index: number): string => (columns[index]?.isNumber ? 'number' : 'text');
  const heads = columns.map(({ title }, index) =>
    title === '' ? html`<td></td>` : html`<th scope="col" class="${classOf(index)}">${title}</th>`,
  );
  const lines = rows.map(
    (row) => html`<tr>${row.map((cell, index) => html`<td class="${classOf(index)}">${toPrintable(cell)}</td>`)}</tr>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table><thead><tr>${heads}</tr></thead><tbody>${lines}</tbody></table></div>`;
}
