import { aCatalogModel } from '@turnpike/internal-api/aCatalogModel';
import type { CatalogModel } from '@turnpike/internal-api/catalogSnapshot';
import { type Catalog, type PricedModel, toCatalog } from '../src/catalog/catalog.ts';

export const aCatalog = (...models: Partial<CatalogModel>[]): Catalog =>
  toCatalog({ version: 7, region: 'us', models: models.map(aCatalogModel) });

export function aPricedModel(fields: Partial<CatalogModel> = {}): PricedModel {
  const [model] = aCatalog(fields).models;
  if (!model) throw new Error('the catalog has no model');
  return model;
}
