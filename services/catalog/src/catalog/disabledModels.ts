import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import type { Db } from '../database/createDb.ts';

/** Ids of the models that an administrator switched off, in order. */
export async function findDisabledModels(db: Pick<Db, 'disabledModel'>): Promise<string[]> {
  const rows = await db.disabledModel.findMany({ orderBy: { modelId: 'asc' } });
  return rows.map(({ modelId }) => modelId);
}

/** Models with those switched off as disabled. What is retired stays so. */
export const disableModels = (models: CatalogModel[], disabled: string[]): CatalogModel[] =>
  withState(models, { ids: disabled, from: 'live', to: 'disabled' });

/** The reverse: models as their file says, made out from a catalog in which some were switched off. */
export const enableModels = (models: CatalogModel[], disabled: string[]): CatalogModel[] =>
  withState(models, { ids: disabled, from: 'disabled', to: 'live' });

interface StateChange {
  ids: string[];
  from: CatalogModel['state'];
  to: CatalogModel['state'];
}

function withState(models: CatalogModel[], { ids, from, to }: StateChange): CatalogModel[] {
  return models.map((model) => (ids.includes(model.id) && model.state === from ? { ...model, state: to } : model));
}
