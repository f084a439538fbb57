import { pathsOfModel } from '@turnpike/internal-api/modelNames';
import { findLanguage } from '@turnpike/public-api/transcriptionRequest';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import type { MediaModel } from '../../catalog/mediaCatalog.ts';
import type { MediaOperation, Size } from '../../terms/mediaRequest.ts';

/** Rules of a model for requests. */
export type RequestedModel = Pick<MediaModel, 'id' | 'category' | 'inputModalities' | 'outputModalities' | 'media'>;
export type Capabilities = MediaModel['media']['capabilities'];

/** Names of the kinds of models, for clients. */
const PURPOSES = {
  image: 'making images',
  video: 'making videos',
  speech: 'speaking',
  'speech-to-text': 'writing down speech',
} as const;
type Kind = keyof typeof PURPOSES;

const KIND_OF: Readonly<Record<MediaOperation, Kind>> = {
  'images.generations': 'image',
  videos: 'video',
  'audio.speech': 'speech',
  'audio.transcriptions': 'speech-to-text',
  'audio.translations': 'speech-to-text',
};

/** A refusal shows so much of a word that a client sent. */
const SHOWN_LETTERS = 32;

/** `a, b or c`. */
const CHOICES = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** Returns the capabilities of a model of the operation's kind. Throws `invalid_request` for any other model. */
export function capabilitiesFor(operation: MediaOperation, model: RequestedModel): Capabilities {
  const kind = KIND_OF[operation];
  if (kindOf(model) !== kind)
    throw invalidRequest(
      'model',
      `model must be one for ${PURPOSES[kind]}; ${model.id} is called at ${pathsOfModel(model).join(' or ')}`,
    );
  return model.media.capabilities;
}

function kindOf({ category, outputModalities }: RequestedModel): Kind | undefined {
  if (category === 'image' || category === 'video') return category;
  if (category === 'audio') return outputModalities.includes('audio') ? 'speech' : 'speech-to-text';
  return undefined;
}

/**
 * Returns the requested value, else the usual default, else the model's first value. Throws `invalid_request` with the
 * allowed values.
 */
export function oneOf<Value extends string | number>(
  param: string,
  value: Value | undefined,
  { allowed, byDefault }: { allowed: readonly Value[] | undefined; byDefault?: NoInfer<Value> },
): Value {
  const [first] = allowed ?? [];
  // The catalog refuses a model without its capabilities.
  if (allowed === undefined || first === undefined) throw new Error(`the model does not say which ${param} it has`);
  const chosen = value ?? (byDefault !== undefined && allowed.includes(byDefault) ? byDefault : first);
  if (!allowed.includes(chosen))
    throw invalidRequest(
      param,
      `${param} must be ${CHOICES.format(allowed.map(String))} for this model, not ${String(chosen).slice(0, SHOWN_LETTERS)}`,
    );
  return chosen;
}

/** Returns the requested voice, by its name or an alias. Throws `invalid_request` with the voices. */
export function voiceOf(voice: string, { voices, voiceAliases = {} }: Capabilities): string {
  const named = Object.hasOwn(voiceAliases, voice) ? voiceAliases[voice] : voice;
  return oneOf('voice', named, { allowed: voices });
}

/** Code of engines for both written forms of Norwegian. */
const NORWEGIAN = { bokmal: 'nb', both: 'no' };

/** Returns the model's name of a language, or its shortest code if the catalog has no name. Throws `invalid_request`. */
export function languageOf(language: string | undefined, { languages }: Capabilities): string | undefined {
  if (language === undefined || languages === undefined) return language;
  const callsIt = (code: string) => languages.find((own) => findLanguage(own)?.code === code);
  const own = callsIt(language) ?? (language === NORWEGIAN.bokmal ? callsIt(NORWEGIAN.both) : undefined);
  return oneOf('language', own ?? language, { allowed: languages });
}

/** One of the model's sizes; its first for `auto` or none. */
export function sizeOf(size: string | undefined, { sizes }: Capabilities): Size {
  const [width, height] = oneOf('size', size === 'auto' ? undefined : size, { allowed: sizes })
    .split('x')
    .map(Number);
  if (width === undefined || height === undefined) throw new Error('the catalog has a size that is none');
  return { width, height };
}
