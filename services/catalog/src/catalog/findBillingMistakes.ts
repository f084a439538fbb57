import { MEDIA_BILLING_UNITS, type MediaBillingUnit, type Modality, UNITS_OF } from '@turnpike/public-api/modality';
import { modelEntrySchema } from '@turnpike/public-api/modelEntry';
import type { CatalogMistake, OutlineModel } from './outline.ts';

/** The kinds of media models: the capabilities that each must and may declare, its possible formats, and its billing units. */
type Kind = 'image' | 'video' | 'speech' | 'speech-to-text';
const KINDS: Readonly<
  Record<
    Kind,
    { has: readonly string[]; may?: readonly string[]; formats: readonly string[]; units: readonly MediaBillingUnit[] }
  >
> = {
  image: { has: ['sizes', 'output_formats', 'max_images'], formats: ['png', 'jpeg', 'webp'], units: ['image'] },
  video: { has: ['sizes', 'seconds', 'fps', 'steps'], formats: [], units: ['second', 'minute'] },
  speech: {
    has: ['voices', 'output_formats'],
    may: ['voice_aliases'],
    formats: ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'],
    units: ['character'],
  },
  'speech-to-text': {
    has: ['max_minutes'],
    may: ['languages', 'timestamps'],
    formats: [],
    units: ['second', 'minute'],
  },
};

const CATEGORY_OF = { image: 'image', video: 'video', speech: 'audio', 'speech-to-text': 'audio' } as const;

type MediaCategory = Exclude<Modality, 'text'>;
/** Whether models of a category are billed by what they make or hear, and not by tokens. */
export const isMedia = (category: string | undefined): category is MediaCategory =>
  category === 'image' || category === 'audio' || category === 'video';

const MEDIA_KEYS = ['billing_unit', 'unit_price', 'capabilities'] as const;
const CATEGORIES = modelEntrySchema.shape.category.options;
const CHOICES = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/**
 * Lists contradictions between a model's category, price unit and capabilities. A text model is billed by tokens, a media model
 * by a unit. A media model without a price is no mistake.
 */
export function findBillingMistakes(model: OutlineModel): CatalogMistake[] {
  const category = CATEGORIES.find((known) => known === model.category);
  if (category === undefined) return [];
  if (!isMedia(category)) return findMistakesOfText(model);
  const mistakes: CatalogMistake[] = [];
  if (model.pricing !== undefined)
    mistakes.push({ steps: ['pricing'], reason: 'is for tokens: media have billing_unit and unit_price' });
  const units = UNITS_OF[category];
  const unit = MEDIA_BILLING_UNITS.find((known) => known === model.billing_unit);
  if (model.billing_unit === undefined) mistakes.push({ steps: ['billing_unit'], reason: 'is missing' });
  else if (unit && !units.includes(unit))
    mistakes.push({ steps: ['billing_unit'], reason: `must be ${CHOICES.format(units)} for category ${category}` });
  const kind = toKind(category, model);
  return typeof kind === 'string' ? [...mistakes, ...findMistakesOfKind(kind, model)] : [...mistakes, kind];
}

function findMistakesOfText(model: OutlineModel): CatalogMistake[] {
  const missing = model.pricing === undefined ? [{ steps: ['pricing'], reason: 'is missing' }] : [];
  const foreign = MEDIA_KEYS.filter((key) => model[key] !== undefined);
  return [
    ...missing,
    ...foreign.map((key) => ({ steps: [key], reason: 'is for categories image, audio and video alone' })),
  ];
}

function toKind(
  category: MediaCategory,
  { input_modalities: takes, output_modalities: makes }: OutlineModel,
): Kind | CatalogMistake {
  if (category !== 'audio')
    return makes.includes(category)
      ? category
      : { steps: ['output_modalities'], reason: `must name ${category}, as the category does` };
  if (makes.includes('audio') !== takes.includes('audio')) return makes.includes('audio') ? 'speech' : 'speech-to-text';
  const reason = 'an audio model takes audio (input_modalities) or makes it (output_modalities), one of the two';
  return { steps: ['category'], reason };
}

function findMistakesOfKind(kind: Kind, { billing_unit: unit, capabilities = {} }: OutlineModel): CatalogMistake[] {
  const { has, may = [], formats, units } = KINDS[kind];
  const own = [...has, ...may];
  // A unit of no category, or of another one, is told already.
  const isOfCategory = UNITS_OF[CATEGORY_OF[kind]].some((known) => known === unit);
  const isMeasured = units.some((known) => known === unit);
  const missing = has.filter((name) => capabilities[name] === undefined);
  const foreign = Object.keys(capabilities).filter((name) => !own.includes(name) && isCapability(name));
  const { output_formats: named } = capabilities;
  const others = formats.length > 0 && Array.isArray(named) ? [...named.entries()] : [];
  return [
    ...(isOfCategory && !isMeasured
      ? [{ steps: ['billing_unit'], reason: `must be ${CHOICES.format(units)} for ${kind}` }]
      : []),
    ...missing.map((name) => ({ steps: ['capabilities', name], reason: 'is missing' })),
    ...foreign.map((name) => ({
      steps: ['capabilities', name],
      reason: `is not for ${kind}, which has ${new Intl.ListFormat('en-GB').format(own)}`,
    })),
    ...findAliasMistakes(capabilities),
    ...others
      .filter(([, format]) => isFormat(format) && !formats.includes(format))
      .map(([index]) => ({
        steps: ['capabilities', 'output_formats', index],
        reason: `must be ${CHOICES.format(formats)} for ${kind}`,
      })),
  ];
}

/** Aliases of no voice, and those that a voice hides. */
function findAliasMistakes({ voices, voice_aliases: aliases }: Readonly<Record<string, unknown>>): CatalogMistake[] {
  if (!Array.isArray(voices) || typeof aliases !== 'object' || aliases === null) return [];
  return Object.entries(aliases).flatMap(([alias, voice]) => {
    const steps = ['capabilities', 'voice_aliases', alias];
    if (!voices.includes(voice)) return [{ steps, reason: `${JSON.stringify(voice)} is not one of the voices` }];
    return voices.includes(alias) ? [{ steps, reason: 'is the name of a voice already' }] : [];
  });
}

/** Whether it is a word of any kind's: what is none is reported by the file's schema. */
const isCapability = (name: string): boolean =>
  Object.values(KINDS).some(({ has, may }) => has.includes(name) || may?.includes(name));
const isFormat = (format: unknown): format is string =>
  Object.values(KINDS).some(({ formats }) => formats.includes(String(format)));
