import { countCharacters } from '@turnpike/public-api/mediaFields';
import { speechRequestSchema } from '@turnpike/public-api/speechRequest';
import { invalidRequest } from '@turnpike/request-reading/faults/requestFault';
import { createFieldReader } from '@turnpike/request-reading/fields/fieldReader';
import type { SpeechRequest } from '../../terms/mediaRequest.ts';
import { digestOf, type MediaDraft } from '../mediaDraft.ts';
import { capabilitiesFor, oneOf, voiceOf } from '../models/modelRules.ts';

const OPERATION = 'audio.speech';
const FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'] as const;
const readFields = createFieldReader(speechRequestSchema);

/** Checks the fields of a body. Throws `invalid_request`. */
export function draftSpeechRequest(value: unknown): Omit<MediaDraft<SpeechRequest>, 'refused' | 'discard'> {
  const fields = readFields(value);
  const { input, instructions } = fields;
  const isAsync = fields.async ?? false;
  const streamFormat = fields.stream_format ?? 'audio';
  if (isAsync && streamFormat === 'sse')
    throw invalidRequest('stream_format', 'stream_format cannot be sse together with async');
  return {
    model: fields.model,
    digest: digestOf(OPERATION, fields),
    forModel(model) {
      const can = capabilitiesFor(OPERATION, model);
      const voice = typeof fields.voice === 'string' ? fields.voice : fields.voice.id;
      return {
        operation: OPERATION,
        model: model.id,
        input,
        characters: countCharacters(input),
        voice: voiceOf(voice, can),
        ...(instructions !== undefined && instructions !== '' && { instructions }),
        responseFormat: oneOf('response_format', fields.response_format, {
          allowed: FORMATS.filter((format) => can.outputFormats?.includes(format)),
          byDefault: 'mp3',
        }),
        speed: fields.speed ?? 1,
        streamFormat,
        isAsync,
      };
    },
  };
}
