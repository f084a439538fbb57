import { CatalogFileError, readCatalogFile } from '@turnpike/catalog/readCatalogFile';
import type { Region } from '@turnpike/config/region';
import type { CatalogModel, Category } from '@turnpike/internal-api/catalogSnapshot';
import { StackError } from './stackError.ts';

const TEXT_CATEGORIES: Category[] = ['text', 'code', 'reasoning', 'multimodal', 'embeddings'];

/** The models that a stack has engines for. */
export interface ServedModels {
  models: CatalogModel[];
  mediaModels: CatalogModel[];
}

/**
 * Returns the live models of a catalog file, in the file's order. Throws a `StackError` with file, line and reason of a
 * mistake. The catalog service itself would ignore the mistake and use its last good version.
 */
export async function readServedModels(file: string, region: Region): Promise<ServedModels> {
  try {
    const live = (await readCatalogFile(file, region)).filter(({ state }) => state === 'live');
    return {
      models: live.filter(({ category }) => TEXT_CATEGORIES.includes(category)),
      mediaModels: live.filter(({ media }) => media !== undefined),
    };
  } catch (error) {
    if (!(error instanceof CatalogFileError)) throw error;
    const [first, ...more] = error.message.split('\n');
    const rest = more.length === 0 ? '' : ` (and ${more.length} more)`;
    throw new StackError(`The catalog file has a mistake; mend it and start again. ${first}${rest}`, { cause: error });
  }
}
