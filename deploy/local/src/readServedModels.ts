import { CatalogFileError, readCatalogFile } from '@turnpike/catalog/readCatalogFile';
import type { CatalogModel, Category } from '@turnpike/internal-api/catalogSnapshot';
import { StackError } from './stackError.ts';

/** Media models have no engine here, and so are not listed. */
const SERVED_CATEGORIES: Category[] = ['text', 'code', 'reasoning', 'multimodal', 'embeddings'];

/**
 * The live models of a catalog file that a stack has engines for, in the file's order. Read as the catalog service
 * reads it, since that would go on with its last good version where a person wants to hear of a mistake. Throws a
 * `StackError` naming file, line and reason.
 */
export async function readServedModels(file: string, region: 'us'): Promise<CatalogModel[]> {
  try {
    const models = await readCatalogFile(file, region);
    return models.filter(({ category, state }) => SERVED_CATEGORIES.includes(category) && state === 'live');
  } catch (error) {
    if (!(error instanceof CatalogFileError)) throw error;
    const [first, ...more] = error.message.split('\n');
    const rest = more.length === 0 ? '' : ` (and ${more.length} more)`;
    throw new StackError(`The catalog file has a mistake; mend it and start again. ${first}${rest}`, { cause: error });
  }
}
