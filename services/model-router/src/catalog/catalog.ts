import type { CatalogModel, CatalogSnapshot } from '@turnpike/internal-api/catalogSnapshot';
import { parsePrice, type TextPrices } from '@turnpike/money/price';
import { ApiError } from '@turnpike/public-api/apiError';
import { distance } from 'fastest-levenshtein';
import type { ModelFault } from '../api/inferenceFault.ts';

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

const MEDIA_CATEGORIES = new Set(['image', 'audio', 'video']);
const GENERATING_CATEGORIES = new Set(['text', 'code', 'reasoning', 'multimodal']);

/** Whether a model serves chat and completions. */
export const generatesText = ({ category }: CatalogModel): boolean => GENERATING_CATEGORIES.has(category);

/** Whether a model makes or takes media in place of text: it is known here, so that a call of text can be told, and not served. */
export const isMedia = ({ category }: CatalogModel): boolean => MEDIA_CATEGORIES.has(category);

/**
 * The model that a client's `model` value names in this region, by id and then by alias.
 * Throws `unknown_model` if nothing matches; a model not cleared for the region is not in its catalog, so from outside
 * the two look the same (specification, Errors, 404).
 */
export function getModel(catalog: Catalog, name: string): PricedModel {
  const model = catalog.byName.get(name);
  if (!model) throw new ApiError<ModelFault>({ kind: 'unknown_model', didYouMean: findSimilar(catalog, name) });
  if (model.state === 'retired') {
    const suggestion = model.replacement === null ? {} : { suggestedModel: model.replacement };
    throw new ApiError<ModelFault>({ kind: 'unknown_model', didYouMean: findSimilar(catalog, name), ...suggestion });
  }
  if (model.state === 'disabled') throw new ApiError<ModelFault>({ kind: 'model_disabled', model: model.id });
  return model;
}

const MAX_SUGGESTIONS = 3;
const MAX_COMPARED_LENGTH = 96;

/** Live models of text whose names are close to what was typed, nearest first. */
function findSimilar(catalog: Catalog, name: string): string[] {
  const typed = name.slice(0, MAX_COMPARED_LENGTH).toLowerCase();
  const bare = typed.slice(typed.lastIndexOf('/') + 1);
  return catalog.models
    .filter((model) => model.state === 'live' && !isMedia(model))
    .map((model) => ({
      id: model.id,
      distance: Math.min(...[model.id, ...model.aliases].map((known) => distance(bare, known.toLowerCase()))),
    }))
    .filter(({ id, distance }) => distance <= Math.max(3, Math.floor(id.length / 3)))
    .sort((a, b) => a.distance - b.distance || a.id.localeCompare(b.id))
    .slice(0, MAX_SUGGESTIONS)
    .map(({ id }) => id);
}
