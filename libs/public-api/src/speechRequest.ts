import { z } from 'zod';
import { asJob, mediaModel, spokenTextOfAtMost, textOfAtMost } from './mediaFields.ts';
import { optional } from './requestFields.ts';

const MAX_INPUT = 4_096;

/** `POST /v1/audio/speech`. */
export const speechRequestSchema = z
  .strictObject({
    model: mediaModel,
    input: spokenTextOfAtMost(MAX_INPUT).meta({ description: 'The text to speak.' }),
    voice: z
      .union([z.string().min(1), z.strictObject({ id: z.string().min(1) })], {
        error: ({ input }) => (input === undefined ? 'is required' : 'must be a voice or {"id": "…"}'),
      })
      .meta({ description: 'One of the model’s `capabilities.voices`.' }),
    instructions: optional(textOfAtMost(MAX_INPUT)).meta({
      description: 'Instructions for the voice; ignored by models that take none.',
    }),
    response_format: optional(z.enum(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'])).meta({
      description:
        'One of the model’s `capabilities.output_formats`; unless given, `mp3` or the first of them. `pcm` is 24 kHz mono, 16 bit, little-endian.',
    }),
    speed: optional(z.number().min(0.25).max(4)).meta({ description: '1 unless given.' }),
    stream_format: optional(z.enum(['audio', 'sse'])).meta({
      description: '`audio` (default) for bytes, or `sse` for server-sent events.',
    }),
    async: asJob,
  })
  .meta({ title: 'Speech request', description: 'A text to be spoken. A field that does not stand here is refused.' });
