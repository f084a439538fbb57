import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { OPERATIONS_FILE, renderOperationsPage } from './operationsPage.ts';

it('says of settings and metrics what the code says; if this fails: npm run docs', async () => {
  const page = await readFile(OPERATIONS_FILE, 'utf8');

  expect(page).toBe(await renderOperationsPage(page));
});

it('writes its generated parts anew and nothing else', async () => {
  const page = await readFile(OPERATIONS_FILE, 'utf8');
  const stale = page.replace(/\| `REGION` .*\n/, '').replace('turnpike_calls_total', 'turnpike_calls');

  expect(stale).not.toBe(page);
  expect(await renderOperationsPage(stale)).toBe(page);
});

it('refuses a page that has lost a mark', async () => {
  const page = (await readFile(OPERATIONS_FILE, 'utf8')).replace('<!-- end of metrics -->', '');

  await expect(renderOperationsPage(page)).rejects.toThrow('the page lacks the marks of its part "metrics"');
});
