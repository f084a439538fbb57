import { ApiError } from '@turnpike/public-api/apiError';
import type { RequestHandler } from 'express';
import type { CatalogFault } from '../api/catalogFault.ts';
import { listModels } from '../catalog/listModels.ts';
import { toModelBody } from '../wire/modelBody.ts';
import type { ModelsDependencies } from './getModels.ts';

/** GET /v1/models/{id}: one entry of the list, by id or alias. */
export function getModel(dependencies: ModelsDependencies): RequestHandler {
  return (req, res) => {
    dependencies.takeModelList(req);
    const { id: name } = req.params;
    const listed = listModels(dependencies);
    const found =
      listed.find(({ model }) => model.id === name) ?? listed.find(({ model }) => model.aliases.includes(String(name)));
    if (!found) throw new ApiError<CatalogFault>({ kind: 'model_not_found' });
    res.json(toModelBody(found.model, { isReady: found.isReady }));
  };
}
