import { join } from 'node:path';
import { formatMetrics, formatSettings } from './formatReference.ts';
import { readMetrics } from './readMetrics.ts';
import { readSettings } from './readSettings.ts';
import { repositoryRoot } from './repositoryRoot.ts';

export const OPERATIONS_FILE = join(repositoryRoot, 'docs/operations.md');

/** The operators' page with its generated parts as the code says them now, and the rest as it stands. */
export async function renderOperationsPage(page: string): Promise<string> {
  const withSettings = replacePart(page, 'settings', formatSettings(await readSettings()));
  return replacePart(withSettings, 'metrics', formatMetrics(await readMetrics()));
}

/** Puts a generated part between its two marks. Throws when the page does not have them. */
export function replacePart(page: string, part: string, content: string): string {
  const start = `<!-- ${part}: written by npm run docs -->`;
  const end = `<!-- end of ${part} -->`;
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`the page lacks the marks of its part "${part}"`);
  return `${page.slice(0, from + start.length)}\n\n${content}\n\n${page.slice(to)}`;
}
