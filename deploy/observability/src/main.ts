import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { repositoryRoot, writeObservability } from './observabilityFiles.ts';

/** `npm run observability`: writes anew what Prometheus and Grafana read. */
async function main(): Promise<void> {
  for (const [path, text] of Object.entries(writeObservability())) {
    const file = join(repositoryRoot, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    process.stdout.write(`Wrote ${path}.\n`);
  }
}

await main();
