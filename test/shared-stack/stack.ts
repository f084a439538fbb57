import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll } from '@jest/globals';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { startTestStack, type TestStack } from '../support/startTestStack.ts';
import { closeWeb, openWeb } from './web.ts';

/** The model whose catalog entry says that workspaces share what is cached. */
export const MODEL_WITH_SHARED_CACHE = 'llama-3.1-8b-instruct';

/** One stack for several tests, as to start one takes longer than most of them; what one of them needs the others do not meet. */
export let stack: TestStack;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-catalog-'));
  const catalogFile = join(folder, 'us.yaml');
  const deployed = await readFile(join(repositoryRoot, 'deploy/catalog/us/catalog.yaml'), 'utf8');
  const entry = `  - id: ${MODEL_WITH_SHARED_CACHE}\n`;
  if (!deployed.includes(entry)) throw new Error(`the deployed catalog has no ${MODEL_WITH_SHARED_CACHE}`);
  await writeFile(catalogFile, deployed.replace(entry, `${entry}    shared_prefix_cache: true\n`));
  const web = await openWeb();
  stack = await startTestStack({
    kafka: false,
    serviceSettings: {
      catalog: { CATALOG_FILE: catalogFile },
      'model-router': { IMAGE_PRIVATE_HOSTS: new URL(web.url).host },
    },
  });
});

export async function stopStack(): Promise<void> {
  await stack?.stop();
  await closeWeb();
  await rm(folder, { recursive: true, force: true });
}
