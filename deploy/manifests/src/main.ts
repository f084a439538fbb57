import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { renderGeneratedFiles } from './generatedFiles.ts';

/** `npm run manifests`: writes anew what `k8s/` takes from the code and from the catalog. */
for (const [file, text] of Object.entries(await renderGeneratedFiles())) {
  await mkdir(dirname(join(repositoryRoot, file)), { recursive: true });
  await writeFile(join(repositoryRoot, file), text);
  process.stdout.write(`Wrote ${file}.\n`);
}
