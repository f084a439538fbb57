import type { CatalogModel, CatalogSnapshot } from '@turnpike/internal-api/catalogSnapshot';
import { createModelFinder, type FindModel, findSimilarModels, pathsOfModel } from '@turnpike/internal-api/modelNames';
import { parsePrice, type TextPrices } from '@turnpike/money/price';
import { ApiError } from '@turnpike/public-api/apiError';
import type { ModelFault } from '../api/inferenceFault.ts';

/** A model as the router serves it: its catalog entry with the prices read. */
export interface PricedModel extends CatalogModel {
  prices: TextPrices;
}

/** One version of the region's catalog, indexed by name. */
export interface Catalog {
  version: number;
  find: FindModel<PricedModel>;
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
  return { version, models: priced, find: createModelFinder(priced) };
}

const MEDIA_CATEGORIES = new Set(['image', 'audio', 'video']);
const GENERATING_CATEGORIES = new Set(['text', 'code', 'reasoning', 'multimodal']);

/** Whether a model serves chat and completions. */
export const generatesText = ({ category }: CatalogModel): boolean => GENERATING_CATEGORIES.has(category);

/**
 * Whether a model makes or takes media instead of text. A text call for it gets an explaining error instead of a
 * service.
 */
export const isMedia = ({ category }: CatalogModel): boolean => MEDIA_CATEGORIES.has(category);

/**
 * Returns the model that a client's `model` value names in this region. Throws `unknown_model` if nothing matches or
 * the model is retired, and `model_disabled` if it is disabled. The catalog lacks models that are not cleared for the
 * region, so a client cannot tell them from unknown ones.
 */
export function getModel(catalog: Catalog, name: string): PricedModel {
  const model = catalog.find(name);
  if (!model) throw new ApiError<ModelFault>({ kind: 'unknown_model', didYouMean: findSimilar(catalog, name) });
  if (model.state === 'retired') {
    const suggestion = model.replacement === null ? {} : { suggestedModel: model.replacement };
    throw new ApiError<ModelFault>({ kind: 'unknown_model', didYouMean: findSimilar(catalog, name), ...suggestion });
  }
  if (model.state === 'disabled') throw new ApiError<ModelFault>({ kind: 'model_disabled', model: model.id });
  return model;
}

/** Live models of text whose names are close to what was typed, nearest first. */
const findSimilar = ({ models }: Catalog, name: string): string[] =>
  findSimilarModels(
    models.filter((model) => model.state === 'live' && !isMedia(model)),
    name,
  );

const MAX_NAMED = 5;

/** Ends a refusal with the served models that have what the refused one lacks. Empty where none has it. */
export function nameModelsThat(served: () => readonly PricedModel[], can: (model: PricedModel) => boolean): string {
  const names = served()
    .filter(can)
    .slice(0, MAX_NAMED)
    .map(({ id }) => id);
  return names.length === 0 ? '' : `; models that do: ${names.join(', ')}`;
}

/** Throws a refusal of an operation that names the model's paths. */
export const toWrongOperation = (model: PricedModel, operation: string): string =>
  `${model.id} does not serve ${operation}; call it at ${pathsOfModel(model).join(' or ')}`;
