import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { ApiError } from '@turnpike/public-api/apiError';
import type { CatalogFault } from '../api/catalogError.ts';
import type { CatalogInForce } from './followCatalogFile.ts';
import type { LiveModelFollower } from './followLiveModels.ts';

export interface ListedModel {
  model: CatalogModel;
  isReady: boolean;
}

/**
 * The models that clients may see now: live ones for which the region has an engine, ready or not. Throws
 * `router_unreachable` as long as nobody has said which those are.
 */
export function listModels({ catalog, live }: { catalog: CatalogInForce; live: LiveModelFollower }): ListedModel[] {
  const view = live.current();
  if (!view) throw new ApiError<CatalogFault>({ kind: 'router_unreachable' });
  return catalog
    .current()
    .models.filter(({ id, state }) => state === 'live' && (view[id]?.engines ?? 0) > 0)
    .map((model) => ({ model, isReady: (view[model.id]?.healthy ?? 0) > 0 }));
}
