import { findSimilar } from '@turnpike/public-api/findSimilar';
import { MEDIA_ROUTES } from '@turnpike/public-api/mediaRoutes';
import { OPERATION_PATHS } from '@turnpike/public-api/operations';
import type { CatalogModel } from './catalogSnapshot.ts';

type NamedModel = Pick<CatalogModel, 'id' | 'aliases' | 'huggingFaceId'>;

/** Finds the model that a client's `model` value names; undefined where none has the name. */
export type FindModel<Model> = (name: string) => Model | undefined;

/** An owner before a bare name, as other gateways write it. */
const OWNED_NAME = /^[^/]+\/([^/]+)$/;

/**
 * Returns a function that finds a model by, in this order: its id, an alias, its `hugging_face_id` in any case, and
 * `<owner>/<id>` with any owner.
 */
export function createModelFinder<Model extends NamedModel>(models: readonly Model[]): FindModel<Model> {
  const byId = new Map(models.map((model) => [model.id, model]));
  const byAlias = new Map(models.flatMap((model) => model.aliases.map((alias) => [alias, model])));
  // The first of two quantizations of the same weights has the name.
  const byHuggingFaceId = new Map(models.toReversed().map((model) => [model.huggingFaceId.toLowerCase(), model]));
  byHuggingFaceId.delete('');
  return (name) =>
    byId.get(name) ??
    byAlias.get(name) ??
    byHuggingFaceId.get(name.toLowerCase()) ??
    byId.get(OWNED_NAME.exec(name)?.[1] ?? '');
}

/** Ids of the models whose names are close to what was typed, nearest first. What stands before the last slash is no part of it. */
export function findSimilarModels(models: readonly NamedModel[], typed: string): string[] {
  const bare = typed.replace(/\/+$/, '').split('/').at(-1) ?? '';
  return findSimilar(bare, models, ({ id, aliases }) => [id, ...aliases]).map(({ id }) => id);
}

/** The paths at which clients call a model of this kind. */
export function pathsOfModel({
  category,
  outputModalities,
}: Pick<CatalogModel, 'category' | 'outputModalities'>): readonly string[] {
  const { createImages, createVideo, createSpeech, createTranscription, createTranslation } = MEDIA_ROUTES;
  switch (category) {
    case 'embeddings':
      return [OPERATION_PATHS.embeddings];
    case 'image':
      return [createImages.path];
    case 'video':
      return [createVideo.path];
    case 'audio':
      return outputModalities.includes('audio')
        ? [createSpeech.path]
        : [createTranscription.path, createTranslation.path];
    default:
      return [OPERATION_PATHS.chat, OPERATION_PATHS.completions];
  }
}
