import { z } from 'zod';

/** Something wrong in a catalog file: the steps to where it stands, and the reason. */
export interface CatalogMistake {
  steps: (string | number)[];
  reason: string;
}

const text = z.string().optional().catch(undefined);
const texts = z.array(z.string().catch('')).catch([]);
const outlineModelSchema = z.object({
  id: text,
  aliases: texts,
  state: text.default('live'),
  replacement: text,
  clearance: texts,
  input_modalities: texts,
  max_tokens_per_image: z.number().catch(0),
});

/** As much of a file as can be read: malformed parts count as absent, since the file's schema reports them. */
const outlineSchema = z
  .object({ region: text, models: z.array(outlineModelSchema.catch(outlineModelSchema.parse({}))).catch([]) })
  .catch({ region: undefined, models: [] });
type Outline = z.output<typeof outlineSchema>;

/** The entries of a catalog file that contradict each other. Takes any content, so that no mistake hides another. */
export function findContradictions(content: unknown): CatalogMistake[] {
  const outline = outlineSchema.parse(content);
  return [...findTakenNames(outline), ...findLostReplacements(outline), ...findUnboundedImages(outline)];
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
 * Models that take images and do not say how many tokens one is at most: the cost of an image is held before its call.
 */
function findUnboundedImages({ models }: Outline): CatalogMistake[] {
  return models.flatMap((model, index) => {
    if (!model.input_modalities.includes('image') || model.max_tokens_per_image > 0) return [];
    const reason = 'must be at least 1, since the model takes images';
    return [{ steps: ['models', index, 'max_tokens_per_image'], reason }];
  });
}
