import { z } from 'zod';
import { asJob, mediaModel, textOfAtMost } from './mediaFields.ts';
import { optional } from './requestFields.ts';

const MAX_PROMPT = 4_000;

const LANGUAGES = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });

/** Returns the shortest code of a tag's language, and its English name: `en` of `en`, `eng` and `en-US`. Undefined if there is none. */
export function findLanguage(tag: string): { code: string; name: string } | undefined {
  try {
    const { language: code } = new Intl.Locale(tag.replaceAll('_', '-'));
    const name = LANGUAGES.of(code);
    return name === undefined ? undefined : { code, name };
  } catch {
    return undefined;
  }
}

const AUTO = 'auto';

const file = z.file().meta({
  description: 'The audio file: FLAC, MP3, MP4, M4A, OGG, WAV or WebM. Its bytes decide its type.',
});

/** Fields of both operations beside the file. */
const fields = {
  model: mediaModel,
  prompt: optional(textOfAtMost(MAX_PROMPT)).meta({ description: 'Words and names that may come up.' }),
  response_format: optional(z.enum(['json', 'text', 'srt', 'vtt', 'verbose_json'])).meta({
    description: '`json` unless given.',
  }),
  temperature: optional(z.number().min(0).max(1)).meta({ description: 'Sampling temperature.' }),
  async: asJob,
};

/** The fields of `POST /v1/audio/transcriptions` beside its file. */
export const transcriptionFieldsSchema = z.strictObject({
  ...fields,
  language: optional(
    z
      .string()
      .refine((tag) => tag === AUTO || findLanguage(tag), 'must be the code of a language, as in en, yue or en-US'),
  )
    .transform((tag) => (tag === undefined || tag === AUTO ? undefined : findLanguage(tag)?.code))
    .meta({
      description:
        'The spoken language: an ISO 639-1 or 639-3 code or a tag with a region (`en`, `yue`, `en-US`) of the model’s `capabilities.languages`. Without it, or with `auto`, it is detected.',
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
    description: 'Only `auto` is accepted.',
    support: 'partial',
    note: 'Only `auto` is accepted.',
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
