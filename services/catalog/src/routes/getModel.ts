import { createModelFinder, findSimilarModels } from '@turnpike/internal-api/modelNames';
import { ApiError } from '@turnpike/public-api/apiError';
import type { RequestHandler } from 'express';
import type { CatalogFault } from '../api/catalogError.ts';
import { listModels } from '../catalog/listModels.ts';
import { toModelBody } from '../wire/modelBody.ts';
import type { ModelsDependencies } from './getModels.ts';

/** GET /v1/models/{id}: one entry of the list, by any name that requests may use. */
export function getModel(dependencies: ModelsDependencies): RequestHandler {
  return (req, res) => {
    dependencies.takeModelList(req);
    // Express gives the parts between the slashes.
    const name = [req.params.id].flat().join('/');
    const listed = listModels(dependencies);
    const models = listed.map((each) => each.model);
    const model = createModelFinder(models)(name);
    if (!model)
      throw new ApiError<CatalogFault>({ kind: 'model_not_listed', didYouMean: findSimilarModels(models, name) });
    const isReady = listed.some((each) => each.model === model && each.isReady);
    res.json(toModelBody(model, { isReady }));
  };
}
