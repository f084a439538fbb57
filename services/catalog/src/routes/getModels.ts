import type { ModelEntry, ModelList } from '@turnpike/public-api/modelEntry';
import type { Request, RequestHandler } from 'express';
import type { CatalogInForce } from '../catalog/followCatalogFile.ts';
import type { LiveModelFollower } from '../catalog/followLiveModels.ts';
import { listModels } from '../catalog/listModels.ts';
import { toModelBody } from '../wire/modelBody.ts';

export interface ModelsDependencies {
  catalog: CatalogInForce;
  live: LiveModelFollower;
  takeModelList: (req: Request) => void;
}

/** GET /v1/models: every live model of this region, across all modalities. */
export function getModels(dependencies: ModelsDependencies): RequestHandler {
  return (req, res) => {
    dependencies.takeModelList(req);
    res.json({ object: 'list', data: listModelBodies(dependencies) } satisfies ModelList);
  };
}

/** Returns the entry of each listed model. Throws `router_unreachable` as `listModels` does. */
export const listModelBodies = (dependencies: Pick<ModelsDependencies, 'catalog' | 'live'>): ModelEntry[] =>
  listModels(dependencies).map(({ model, isReady }) => toModelBody(model, { isReady }));
