import { readFile, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { ARCHITECTURE_FILE, renderArchitecturePage } from './architecturePage.ts';
import { CATALOG_FILE_PAGE, renderCatalogFilePage } from './catalogFilePage.ts';
import { COMPATIBILITY_FILE, renderCompatibility } from './compatibility/compatibilityPage.ts';
import { ACCOUNT_OPENAPI_FILE, renderAccountOpenApi } from './openapi/accountDocument.ts';
import { CONSOLE_OPENAPI_FILE, renderConsoleOpenApi } from './openapi/consoleDocument.ts';
import { OPENAPI_FILE, renderOpenApi } from './openapi/openApiDocument.ts';
import { METRICS_FILE, renderMetricsPage, renderSettingsPage, SETTINGS_FILE } from './referencePages.ts';
import { repositoryRoot } from './repositoryRoot.ts';

/** `npm run docs`: writes anew what the documentation takes from the code. */
async function main(): Promise<void> {
  await write(SETTINGS_FILE, await renderSettingsPage(await readFile(SETTINGS_FILE, 'utf8')));
  await write(METRICS_FILE, await renderMetricsPage(await readFile(METRICS_FILE, 'utf8')));
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
