import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import type { Queryable } from '@turnpike/postgres/database';
import { sql } from '@turnpike/postgres/sql';

/** Ids of the models that an administrator switched off, in order. */
export async function findDisabledModels(db: Pick<Queryable, 'query'>): Promise<string[]> {
  const rows = await db.query(
    sql<{ modelId: string }>`SELECT model_id AS "modelId" FROM disabled_model ORDER BY model_id`,
  );
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
