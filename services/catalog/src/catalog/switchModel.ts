import type { CatalogSnapshot } from '@turnpike/internal-api/catalogSnapshot';
import type { Logger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import type { CatalogFault } from '../api/catalogError.ts';
import type { Db } from '../database/createDb.ts';
import type { CatalogInForce } from './followCatalogFile.ts';

export type ModelChange = 'disable' | 'enable';
/** `log` says who asks for it. */
export type SwitchModel = (modelId: string, change: ModelChange, log: Logger) => Promise<CatalogSnapshot>;

/**
 * Makes an administrator's switch, which disables or enables a model by its id and returns the catalog in
 * force from then on. A repeated switch changes nothing. Throws `model_not_found` and `model_retired`. Throws
 * `model_disabled_in_file` for a model that stays off because the catalog file disables it too.
 */
export function createModelSwitch({ db, catalog }: { db: Db; catalog: CatalogInForce }): SwitchModel {
  return async (modelId, change, log) => {
    const state = stateOf(catalog.current(), modelId);
    if (state === undefined) throw refuse('model_not_found');
    if (state === 'retired') throw refuse('model_retired');
    if (change === 'disable') await db.disabledModel.createMany({ data: { modelId }, skipDuplicates: true });
    else await db.disabledModel.deleteMany({ where: { modelId } });
    const inForce = await catalog.refresh();
    log.info({ model: modelId, change, version: inForce.version }, 'model switched');
    if (change === 'enable' && stateOf(inForce, modelId) === 'disabled') throw refuse('model_disabled_in_file');
    return inForce;
  };
}

const stateOf = ({ models }: CatalogSnapshot, modelId: string) => models.find(({ id }) => id === modelId)?.state;

const refuse = (kind: 'model_not_found' | 'model_retired' | 'model_disabled_in_file'): ApiError<CatalogFault> =>
  new ApiError({ kind });
