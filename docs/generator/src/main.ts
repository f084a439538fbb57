import { readFile, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { ARCHITECTURE_FILE, renderArchitecturePage } from './architecturePage.ts';
import { CATALOG_FILE_PAGE, renderCatalogFilePage } from './catalogFilePage.ts';
import { COMPATIBILITY_FILE, renderCompatibility } from './compatibility/compatibilityPage.ts';
import { ACCOUNT_OPENAPI_FILE, renderAccountOpenApi } from './openapi/accountDocument.ts';
import { CONSOLE_OPENAPI_FILE, renderConsoleOpenApi } from './openapi/consoleDocument.ts';
import { OPENAPI_FILE, renderOpenApi } from './openapi/openApiDocument.ts';
import { OPERATIONS_FILE, renderOperationsPage } from './operationsPage.ts';
import { repositoryRoot } from './repositoryRoot.ts';

/** `npm run docs`: writes anew what the documentation takes from the code. */
async function main(): Promise<void> {
  await write(OPERATIONS_FILE, await renderOperationsPage(await readFile(OPERATIONS_FILE, 'utf8')));
  await write(ARCHITECTURE_FILE, renderArchitecturePage(await readFile(ARCHITECTURE_FILE, 'utf8')));
  await write(CATALOG_FILE_PAGE, await renderCatalogFilePage(await readFile(CATALOG_FILE_PAGE, 'utf8')));
  await write(OPENAPI_FILE, renderOpenApi());
  await write(ACCOUNT_OPENAPI_FILE, renderAccountOpenApi());
  await write(CONSOLE_OPENAPI_FILE, renderConsoleOpenApi());
  await write(COMPATIBILITY_FILE, renderCompatibility());
}

async function write(file: string, text: string): Promise<void> {
  await writeFile(file, text);
  process.stdout.write(`Wrote ${relative(repositoryRoot, file)}.\n`);
}

await main();
