import { join } from 'node:path';
import { formatMetrics, formatSettings } from './formatReference.ts';
import { readMetrics } from './readMetrics.ts';
import { readSettings } from './readSettings.ts';
import { repositoryRoot } from './repositoryRoot.ts';

export const SETTINGS_FILE = join(repositoryRoot, 'docs/settings.md');
export const METRICS_FILE = join(repositoryRoot, 'docs/metrics.md');

/** Returns the page with the settings as the code has them, and the rest unchanged. */
export const renderSettingsPage = async (page: string): Promise<string> =>
  replacePart(page, 'settings', formatSettings(await readSettings()));

/** Returns the page with the metrics as the code has them, and the rest unchanged. */
export const renderMetricsPage = async (page: string): Promise<string> =>
  replacePart(page, 'metrics', formatMetrics(await readMetrics()));

/** Puts a generated part between its two marks. Throws when the page does not have them. */
export function replacePart(page: string, part: string, content: string): string {
  const start = `<!-- ${part}: written by npm run docs -->`;
  const end = `<!-- end of ${part} -->`;
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`the page lacks the marks of its part "${part}"`);
  return `${page.slice(0, from + start.length)}\n\n${content}\n\n${page.slice(to)}`;
}
