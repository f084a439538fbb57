import { z } from 'zod';
import { toEvent } from '../wire/answer.ts';
import { EngineError } from '../wire/engineError.ts';
import { membersOf, optional, readMembers } from './fields.ts';
import type { Personality, SpeechDialect } from './personality.ts';

/** Names that it takes beside its own. */
const MODELS = ['tts-1', 'tts-1-hd', 'kokoro'];

const speechSchema = z.object({
  model: optional(z.string()),
  input: z.string(),
  voice: optional(z.string()),
  response_format: optional(z.enum(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'])),
  speed: optional(z.number().min(0.25).max(4)),
  stream: optional(z.boolean()),
});

const speech: SpeechDialect = {
  errorForm: 'nested_detail',
  whenClientLeaves: 'aborts',
  read(body, { model, knobs }) {
    const fields = readMembers(membersOf(body), speechSchema);
    const asked = fields.model ?? 'kokoro';
    if (asked !== model && !MODELS.includes(asked)) throw new EngineError(400, `Unsupported model: ${asked}`);
    const voice = fields.voice ?? knobs.voices[0] ?? '';
    const missing = voice.split(/[-+]/).find((part) => !knobs.voices.includes(part.replace(/\(.*\)$/, '')));
    if (missing !== undefined) {
      throw new EngineError(400, `Voice '${missing}' not found. Available voices: ${knobs.voices.join(', ')}`);
    }
    return {
      input: fields.input,
      voice,
      format: fields.response_format ?? 'mp3',
      speed: fields.speed ?? 1,
      delivery: (fields.stream ?? true) ? 'stream' : 'whole',
    };
  },
  contentTypes: {
    mp3: 'audio/mpeg',
    opus: 'audio/opus',
    aac: 'audio/aac',
    flac: 'audio/flac',
    wav: 'audio/wav',
    pcm: 'audio/pcm',
  },
  toHeaders: ({ format }) => ({
    'content-disposition': `attachment; filename=speech.${format}`,
    'cache-control': 'no-cache',
  }),
  // Kokoro knows no events.
  toDelta: (audio) => audio,
  toDone: () => toEvent(''),
  toVoices: (voices) => ({ voices }),
};

/** Speech in all six formats, streamed unless told otherwise: a failure breaks the body of a 200. */
export const kokoro: Personality = {
  owner: 'kokoro',
  knobs: { voices: ['af_heart', 'af_bella', 'bm_george'] },
  speech,
};
