import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { METRICS_FILE, renderMetricsPage, renderSettingsPage, SETTINGS_FILE } from './referencePages.ts';

it.each([
  ['settings', SETTINGS_FILE, renderSettingsPage],
  ['metrics', METRICS_FILE, renderMetricsPage],
])('says of %s what the code says; if this fails: npm run docs', async (_part, file, render) => {
  const page = await readFile(file, 'utf8');

  expect(page).toBe(await render(page));
});

it.each([
  ['settings', SETTINGS_FILE, renderSettingsPage, /\| `REGION` .*\n/],
  ['metrics', METRICS_FILE, renderMetricsPage, /\| `turnpike_calls_total` .*\n/],
])('writes the %s anew and nothing else', async (_part, file, render, row) => {
  const page = await readFile(file, 'utf8');
  const stale = page.replace(row, '');

  expect(stale).not.toBe(page);
  expect(await render(stale)).toBe(page);
});

it('refuses a page that has lost a mark', async () => {
  const page = (await readFile(METRICS_FILE, 'utf8')).replace('<!-- end of metrics -->', '');

  await expect(renderMetricsPage(page)).rejects.toThrow('the page lacks the marks of its part "metrics"');
});
