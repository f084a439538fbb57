import { readFile, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { OPERATIONS_FILE, renderOperationsPage } from './docs/operationsPage.ts';
import { repositoryRoot } from './repositoryRoot.ts';

/** `npm run docs`: writes anew what the operators' page takes from the code. */
async function main(): Promise<void> {
  const page = await renderOperationsPage(await readFile(OPERATIONS_FILE, 'utf8'));
  await writeFile(OPERATIONS_FILE, page);
  process.stdout.write(`Wrote ${relative(repositoryRoot, OPERATIONS_FILE)}.\n`);
}

await main();
