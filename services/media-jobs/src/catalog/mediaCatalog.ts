import type { CatalogModel, CatalogSnapshot } from '@turnpike/internal-api/catalogSnapshot';
import { createModelFinder, type FindModel, pathsOfModel } from '@turnpike/internal-api/modelNames';
import { ApiError } from '@turnpike/public-api/apiError';
import type { MediaBillingUnit } from '@turnpike/public-api/modality';
import { MEDIA_OPERATIONS } from '@turnpike/public-api/operations';
import type { ModelFault } from '../api/mediaFault.ts';
import type { ClipSettings } from '../terms/backend.ts';
import type { MediaOperation } from '../terms/mediaRequest.ts';

/** A catalog model that makes or takes media. */
export interface MediaModel extends CatalogModel {
  media: NonNullable<CatalogModel['media']>;
}

/** One version of the region's catalog. */
export interface MediaCatalog {
  version: number;
  /** Finds text models as well, because a media model must not use their names. */
  find: FindModel<CatalogModel>;
  media: readonly MediaModel[];
  /** Ids of models that an administrator has disabled. */
  disabled: readonly string[];
}

const isMedia = (model: CatalogModel): model is MediaModel => model.media !== undefined;

export function toMediaCatalog({ version, models }: CatalogSnapshot): MediaCatalog {
  const media = models.filter(isMedia);
  const disabled = media.filter(({ state }) => state === 'disabled').map(({ id }) => id);
  return { version, find: createModelFinder(models), media, disabled };
}

/** A model with the catalog version that a call is charged by, even if the catalog changes meanwhile. */
export interface ResolvedModel {
  model: MediaModel;
  priceVersion: number;
}

/**
 * Returns the media model that a client's `model` value names in this region. Throws the same `model_not_found` if the
 * model is unknown, retired, not cleared for the region or without a backend there. For a live text model the fault has
 * its paths. Throws `model_disabled` if an administrator has disabled the model.
 */
export function getMediaModel(
  catalog: MediaCatalog | undefined,
  name: string,
  { isConfigured }: { isConfigured: (modelId: string) => boolean },
): ResolvedModel {
  if (!catalog) throw refuse({ kind: 'catalog_unavailable' });
  const model = catalog.find(name);
  if (!model || model.state === 'retired') throw refuse({ kind: 'model_not_found' });
  if (!isMedia(model)) {
    const textModel = model.state === 'live' && { textModel: { id: model.id, paths: pathsOfModel(model) } };
    throw refuse({ kind: 'model_not_found', ...textModel });
  }
  if (model.state === 'disabled') throw refuse({ kind: 'model_disabled', model: model.id });
  if (!isConfigured(model.id)) throw refuse({ kind: 'model_not_found' });
  return { model, priceVersion: catalog.version };
}

/**
 * Units that each operation is measured in and can be billed by. Minutes and seconds are both counted in whole seconds.
 */
const UNITS_OF: Readonly<Record<MediaOperation, readonly MediaBillingUnit[]>> = {
  'images.generations': ['image'],
  videos: ['second', 'minute'],
  'audio.speech': ['character'],
  'audio.transcriptions': ['second', 'minute'],
  'audio.translations': ['second', 'minute'],
};

/** The price of one unit of a model, as the catalog writes it. */
export interface PriceText {
  billingUnit: MediaBillingUnit;
  unitPrice: string;
}

/**
 * Returns the price of one unit of a model. Throws `pricing_unavailable` if the model has no price, or one for a unit
 * that is not measured. Such a model is not run, and is not free.
 */
export function priceOf({ id, media: { billingUnit, unitPrice } }: MediaModel, operation: MediaOperation): PriceText {
  if (unitPrice === null || !UNITS_OF[operation].includes(billingUnit))
    throw refuse({ kind: 'pricing_unavailable', model: id });
  return { billingUnit, unitPrice };
}

/** Returns the prices of the models of an operation that are served here. */
export const pricesFor = (catalog: MediaCatalog, operation: MediaOperation): PriceText[] =>
  catalog.media.flatMap(({ state, category, media: { billingUnit, unitPrice } }) =>
    state === 'live' &&
    category === MEDIA_OPERATIONS[operation] &&
    UNITS_OF[operation].includes(billingUnit) &&
    unitPrice !== null
      ? [{ billingUnit, unitPrice }]
      : [],
  );

/** Returns the settings of a model's clips in the catalog. */
export function clipSettingsOf(catalog: MediaCatalog | undefined, modelId: string): ClipSettings {
  const { fps, steps } = catalog?.media.find(({ id }) => id === modelId)?.media.capabilities ?? {};
  return { fps, steps };
}

const refuse = (fault: ModelFault): ApiError<ModelFault> => new ApiError(fault);
