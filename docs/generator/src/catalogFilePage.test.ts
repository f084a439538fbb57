import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { CATALOG_FILE_PAGE, renderCatalogFilePage } from './catalogFilePage.ts';

it('says of the fields of both files what their schemas say; if this fails: npm run docs', async () => {
  const page = await readFile(CATALOG_FILE_PAGE, 'utf8');
  expect(page).toBe(await renderCatalogFilePage(page));
});
