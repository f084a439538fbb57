import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { type RunbookBlock, toBlocks } from './toBlocks.ts';

/** The folder of the pages. */
export const RUNBOOKS = join(repositoryRoot, 'docs', 'runbooks');

/** The commands of a page, in its order. Throws where it has none. */
export async function readRunbook(page: string): Promise<RunbookBlock[]> {
  const blocks = toBlocks(await readFile(join(RUNBOOKS, page), 'utf8'));
  if (blocks.length === 0) throw new Error(`docs/runbooks/${page} has no block of commands`);
  return blocks;
}
