import { readFile } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { ARCHITECTURE_FILE, renderArchitecturePage } from './architecturePage.ts';

it('lists the internal routes as they are declared; if this fails: npm run docs', async () => {
  const page = await readFile(ARCHITECTURE_FILE, 'utf8');

  expect(page).toBe(renderArchitecturePage(page));
  expect(page).toContain('`POST /internal/keys/verify`');
});
