import { z } from 'zod';
import { asJob, mediaModel, textOfAtMost } from './mediaFields.ts';
import { optional } from './requestFields.ts';

const MAX_PROMPT = 4_000;

const LANGUAGES = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
const isLanguage = (code: string): boolean => /^[a-z]{2}$/.test(code) && LANGUAGES.of(code) !== undefined;

const file = z.file().meta({
  description: 'The recording: FLAC, MP3, MP4, M4A, OGG, WAV or WebM. What it is, is read from its bytes.',
});

/** What both operations have beside the file. */
const fields = {
  model: mediaModel,
  prompt: optional(textOfAtMost(MAX_PROMPT)).meta({ description: 'Words and names that may come up.' }),
  response_format: optional(z.enum(['json', 'text', 'srt', 'vtt', 'verbose_json'])).meta({
    description: '`json` unless given.',
  }),
  temperature: optional(z.number().min(0).max(1)).meta({ description: 'How freely words are drawn.' }),
  async: asJob,
};

/** The fields of `POST /v1/audio/transcriptions` beside its file. */
export const transcriptionFieldsSchema = z.strictObject({
  ...fields,
  language: optional(z.string().refine(isLanguage, 'must be a language in two letters (ISO 639-1), as in en')).meta({
    description: 'What is spoken, as in `en` (ISO 639-1); found out unless given.',
  }),
  timestamp_granularities: optional(z.array(z.enum(['segment', 'word'])).max(2)).meta({
    description: 'Whose times `verbose_json` has; `segment` unless given.',
    note: 'With `verbose_json`.',
  }),
  stream: optional(z.boolean()).meta({
    description: 'The answer comes as server-sent events. With `json` and `text`.',
    support: 'partial',
    note: 'With `json` and `text`.',
  }),
  chunking_strategy: optional(z.literal('auto', 'must be auto')).meta({
    description: 'Only `auto` is taken.',
    support: 'partial',
    note: 'Only `auto` is taken.',
  }),
  include: optional(z.never('is not supported')).meta({ description: 'Not supported.', support: 'no', note: '422.' }),
});

/** The fields of `POST /v1/audio/translations` beside its file. */
export const translationFieldsSchema = z.strictObject(fields);

export const transcriptionRequestSchema = transcriptionFieldsSchema.extend({ file }).meta({
  title: 'Transcription request',
  description: 'A recording to be written down. A field that does not stand here is refused.',
});

export const translationRequestSchema = translationFieldsSchema.extend({ file }).meta({
  title: 'Translation request',
  description: 'A recording to be written down in English. A field that does not stand here is refused.',
});
