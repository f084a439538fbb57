import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { inBrowser } from '../inBrowser.ts';
import { NAMES, recordCalls } from '../walks.ts';
import { dashboard } from './dashboard.ts';

const DAY_MS = 86_400_000;

inBrowser('the usage of a workspace in Chromium', () => {
  const choose = (page: Page, label: string, option: string) =>
    page.getByLabel(label, { exact: true }).selectOption(option);
  const readRows = (page: Page): Promise<string[][]> =>
    page.evaluate(
      '[...document.querySelectorAll("section[aria-label=Usage] tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent))',
    );

  async function download(page: Page): Promise<string> {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download all rows as CSV' }).click(),
    ]);
    return readFile(await file.path(), 'utf8');
  }

  it('shows the same numbers in the chart, the table and the file', async () => {
    const { page, path, workspaceId } = await dashboard.prepareWorkspace('ann@usage.example');
    await recordCalls(dashboard, workspaceId);
    await page.goto(`${path}/usage`);
    const bars = page.getByRole('slider');
    await bars.waitFor();
    await page.getByText('$3.704078676', { exact: true }).first().waitFor();
    await page.getByText('of them cached: 120').waitFor();
    await page.getByText('Before: 3', { exact: false }).first().waitFor();
    const rows = await readRows(page);
    expect(rows).toHaveLength(4);
    expect(rows[0]?.slice(1)).toEqual(['small-chat', '$3.703703676', '360', '60', '240', '3', '0']);

    await choose(page, 'Split by', 'key');
    await page
      .getByRole('cell', { name: NAMES[1] ?? '' })
      .first()
      .waitFor();
    const csv = await download(page);
    expect(csv.split('\r\n')).toHaveLength(8);
    expect(csv).toContain(`"'=HYPERLINK(""https://evil.example"") (sk-...Ab10)",1.234567891,120,20,80,1,0\r\n`);
    const shown = await readRows(page);
    expect(shown.map((row) => row[2])).toEqual(
      csv
        .split('\r\n')
        .slice(1, -1)
        .map((line) => `$${/,(\d+\.\d+),/.exec(line)?.[1]}`),
    );
  });

  it('gives the values of each bar to the keyboard, and keeps the choices in the address', async () => {
    const { page, path, workspaceId } = await dashboard.prepareWorkspace('ben@usage.example');
    await recordCalls(dashboard, workspaceId);
    await page.goto(`${path}/usage`);
    const bars = page.getByRole('slider');
    await bars.focus();
    expect(await bars.getAttribute('aria-valuetext')).toContain('$3.703703676. small-chat: $3.703703676');
    await page.keyboard.press('ArrowLeft');
    expect(await bars.getAttribute('aria-valuetext')).toContain('$0.00. ');
    await page.keyboard.press('ArrowLeft');
    expect(await bars.getAttribute('aria-valuetext')).toContain('large-chat-2: $0.000125');
    expect(await page.locator('figcaption').textContent()).toContain('$0.000375');
    await page.keyboard.press('Escape');
    await page.getByText('All bars: $3.704078676').waitFor();

    await choose(page, 'Range', '30d');
    await choose(page, 'By', 'hour');
    await choose(page, 'Chart of', 'tokens');
    await page.getByRole('figure', { name: 'Tokens by hour and model' }).waitFor();
    expect(await bars.getAttribute('aria-valuemax')).toBe('720');
    await page.reload();
    await page.getByRole('figure', { name: 'Tokens by hour and model' }).waitFor();
    await choose(page, 'Range', '24h');
    await page.locator('[role=slider][aria-valuemax="24"]').waitFor();
    await choose(page, 'Range', 'custom');
    await page.getByText('Choose the first and the last day').first().waitFor();
    await page.getByLabel('First day').fill('2024-01-01');
    await page.getByLabel('Last day').fill('2026-01-01');
    await page.getByText('A range has at most 31 days by hour. This one has 732.').first().waitFor();
    await page.getByLabel('First day').fill('2026-01-01');
    await page.getByText('No call began in this range').waitFor();
  });

  it('says the next step without usage, and what to do while the region is away', async () => {
    const { page, path } = await dashboard.prepareWorkspace('cleo@usage.example');
    await page.goto(`${path}/usage`);
    await page.getByText('No call began in this range').waitFor();
    await page.route('**/console/**', (route) => route.abort());
    await page.goto(`${path}/usage`);
    await page.getByText('The region does not answer').waitFor();
    await page.unroute('**/console/**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('No call began in this range').waitFor();
  });

  it('draws a year of 50 models and 100 keys with the smallest of them as one', async () => {
    const { page, path, workspaceId } = await dashboard.prepareWorkspace('dora@usage.example');
    await dashboard.recordYear(workspaceId);
    const [from, to] = [365, 0].map((days) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10));
    await page.goto(`${path}/usage?range=custom&from=${from}&to=${to}`);
    await page.getByText('42 others').first().waitFor();
    await choose(page, 'Chart of', 'tokens');
    await page.getByRole('figure', { name: /^Tokens/ }).waitFor();
  });
});
