import type { CatalogModel, CatalogSnapshot } from '@turnpike/internal-api/catalogSnapshot';
import { parsePrice, type TextPrices } from '@turnpike/money/price';

/** A model as the router serves it: its catalog entry with the prices read. */
export interface PricedModel extends CatalogModel {
  prices: TextPrices;
}

/** One version of the region's catalog, ready for look-ups by id and by alias. */
export interface Catalog {
  version: number;
  byName: ReadonlyMap<string, PricedModel>;
  models: readonly PricedModel[];
}

export function toCatalog({ version, models }: CatalogSnapshot): Catalog {
  const priced = models.map((model): PricedModel => {
    const { prompt, completion, input_cache_read: inputCacheRead, request, image } = model.pricing;
    const prices = {
      prompt: parsePrice(prompt),
      completion: parsePrice(completion),
      inputCacheRead: parsePrice(inputCacheRead),
      request: parsePrice(request),
      image: parsePrice(image),
    };
    return { ...model, prices };
  });
  // An id is never shadowed by another model's alias.
  const aliases = priced.flatMap((model) => model.aliases.map((alias) => [alias, model] as const));
  return {
    version,
    models: priced,
    byName: new Map([...aliases, ...priced.map((model) => [model.id, model] as const)]),
  };
}

const GENERATING_CATEGORIES = new Set(['text', 'code', 'reasoning', 'multimodal']);

/** Whether a model serves chat and completions. */
export const generatesText = ({ category }: CatalogModel): boolean => GENERATING_CATEGORIES.has(category);
