import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { renderGeneratedFiles } from './generatedFiles.ts';
import { repositoryRoot } from './repositoryRoot.ts';

/** `npm run manifests`: writes anew what `k8s/` takes from the code and from the catalog. */
for (const [file, text] of Object.entries(await renderGeneratedFiles())) {
  await mkdir(dirname(join(repositoryRoot, file)), { recursive: true });
  await writeFile(join(repositoryRoot, file), text);
  process.stdout.write(`Wrote ${file}.\n`);
}
