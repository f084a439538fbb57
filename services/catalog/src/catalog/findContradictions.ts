import { findBillingMistakes, isMedia } from './findBillingMistakes.ts';
import { type CatalogMistake, type Outline, outlineSchema } from './outline.ts';

/** The entries of a catalog file that contradict each other. Takes any content, so that no mistake hides another. */
export function findContradictions(content: unknown): CatalogMistake[] {
  const outline = outlineSchema.parse(content);
  return [
    ...findTakenNames(outline),
    ...findLostReplacements(outline),
    ...findUnboundedImages(outline),
    ...outline.models.flatMap((model, index) =>
      findBillingMistakes(model).map(({ steps, reason }) => ({ steps: ['models', index, ...steps], reason })),
    ),
  ];
}

/** A `model` value names one model: no id stands twice, no alias is another's alias or anyone's id. */
function findTakenNames({ models }: Outline): CatalogMistake[] {
  const mistakes: CatalogMistake[] = [];
  const takenBy = new Map<string, string>();
  for (const [index, { id }] of models.entries()) {
    if (id === undefined) continue;
    const other = takenBy.get(id);
    if (other !== undefined) mistakes.push({ steps: ['models', index, 'id'], reason: `"${id}" is already ${other}` });
    else takenBy.set(id, `the id of models[${index}]`);
  }
  for (const [index, { aliases }] of models.entries()) {
    for (const [aliasIndex, alias] of aliases.entries()) {
      const other = takenBy.get(alias);
      if (other === undefined) takenBy.set(alias, `an alias of models[${index}]`);
      else mistakes.push({ steps: ['models', index, 'aliases', aliasIndex], reason: `"${alias}" is already ${other}` });
    }
  }
  return mistakes;
}

/** A caller of a retired model is told the replacement, which therefore has to be one that this region serves. */
function findLostReplacements({ region, models }: Outline): CatalogMistake[] {
  const isCleared = ({ clearance }: Outline['models'][number]): boolean => clearance.includes(region ?? '');
  const served = new Set(models.filter((model) => model.state === 'live' && isCleared(model)).map(({ id }) => id));
  return models.flatMap((model, index) => {
    const { replacement, state } = model;
    if (replacement === undefined) return [];
    const steps = ['models', index, 'replacement'];
    if (state !== 'retired') return [{ steps, reason: 'only a retired model has a replacement' }];
    // A model that is not cleared here is left out with its replacement, wherever that is cleared.
    if (!isCleared(model) || served.has(replacement)) return [];
    return [{ steps, reason: `"${replacement}" is not a live model cleared for this region` }];
  });
}

/**
 * Finds models with image input that are billed by tokens but declare no maximum of tokens for an image. The hold of a call needs that
 * maximum.
 */
function findUnboundedImages({ models }: Outline): CatalogMistake[] {
  return models.flatMap((model, index) => {
    const countsImages = model.input_modalities.includes('image') && !isMedia(model.category);
    if (!countsImages || model.max_tokens_per_image > 0) return [];
    const reason = 'must be at least 1, since the model takes images';
    return [{ steps: ['models', index, 'max_tokens_per_image'], reason }];
  });
}
