import { RefusedError } from '../cli/operatorError.ts';
import type { Services } from './createServices.ts';

/** Throws a `RefusedError` for models that the region's catalog does not have. `outcome` says what was not done. */
export async function assertInCatalog(
  models: string[],
  { catalog }: Pick<Services, 'catalog'>,
  outcome: string,
): Promise<void> {
  const ids = new Set((await catalog.getCatalog()).models.map(({ id }) => id));
  const unknown = models.filter((id) => !ids.has(id));
  if (unknown.length > 0)
    throw new RefusedError(`The catalog has no ${unknown.join(', ')}, so ${outcome}. "models list" lists its models.`);
}
