import { z } from 'zod';
import { toEvent } from '../wire/answer.ts';
import { EngineError } from '../wire/engineError.ts';
import { flag, formOf, granularities, optional, readMembers, WHISPER_LANGUAGES } from './fields.ts';
import type { Personality, Transcript, TranscriptionDialect } from './personality.ts';

const schema = z.object({
  model: optional(z.string()),
  language: optional(z.string()),
  prompt: optional(z.string()),
  response_format: optional(z.enum(['json', 'text', 'srt', 'verbose_json', 'vtt'])),
  temperature: optional(z.coerce.number()),
  'timestamp_granularities[]': optional(granularities),
  stream: optional(flag),
});

const REFUSED_FORMATS = ['srt', 'vtt'];
const MAX_AUDIO_BYTES = 25 * 1024 * 1024;

const transcriptions: TranscriptionDialect = {
  errorForm: 'envelope',
  whenClientLeaves: 'aborts',
  notAudio: [
    400,
    'Invalid or corrupted audio data. Ensure the input is a valid audio or video file (e.g. a complete WAV, MP3, or MP4).',
  ],
  read(body, { model }) {
    const { fields, files } = formOf(body);
    if (typeof fields.file === 'string') {
      throw new EngineError(422, "Expected 'file' to be a file-like object, not 'str'.", {
        type: 'Unprocessable Entity',
      });
    }
    const issue = { type: 'missing', loc: ['body', 'file'], msg: 'Field required', input: null };
    if (!files.file)
      throw new EngineError(422, '1 validation error: body.file: Field required', {
        type: 'Bad Request',
        issues: [issue],
        param: 'body.file',
      });
    const read = readMembers(fields, schema);
    if (read.model !== undefined && read.model !== model) {
      throw new EngineError(404, `The model \`${read.model}\` does not exist. Valid aliases: ${model}.`, {
        param: 'model',
      });
    }
    const audio = files.file.bytes;
    if (audio.length > MAX_AUDIO_BYTES) {
      throw new EngineError(400, 'Maximum file size exceeded', { param: 'audio_filesize_mb' });
    }
    const format = read.response_format ?? 'json';
    if (REFUSED_FORMATS.includes(format)) {
      throw new EngineError(
        400,
        'Currently only support response_format: `text`, `json`, `verbose_json` or `diarized_json`',
      );
    }
    if (read.language !== undefined && !WHISPER_LANGUAGES.has(read.language)) {
      throw new EngineError(400, `Unsupported language: '${read.language}'. Must be one of ${[...WHISPER_LANGUAGES]}.`);
    }
    const stream = read.stream ?? false;
    if (stream && format === 'verbose_json') {
      throw new EngineError(400, "verbose_json format doesn't support streaming case");
    }
    return {
      audio,
      format,
      language: read.language ?? null,
      prompt: read.prompt ?? '',
      wantsWords: false,
      stream,
    };
  },
  toAnswer(transcript, { format, stream }, { model, knobs }) {
    if (stream) return { events: toChunks(transcript, model) };
    if (format === 'verbose_json') return { json: toVerbose(transcript, knobs.durationForm) };
    const usage = { type: 'duration', seconds: Math.ceil(transcript.seconds) };
    // `text` as well. A translation has no usage.
    return { json: { text: transcript.text, ...(transcript.task === 'transcribe' && { usage }) } };
  },
};

/** `duration` was a text until 2026. */
const toVerbose = ({ seconds, language, segments }: Transcript, form: 'number' | 'text'): object => ({
  duration: form === 'text' ? String(seconds) : seconds,
  language,
  // Each begins with a space of its own as well.
  text: segments.map((segment) => segment.text).join(' '),
  segments: segments.map((segment, id) => ({
    id,
    avg_logprob: -0.25,
    compression_ratio: 1.25,
    end: segment.end,
    no_speech_prob: null,
    seek: 0,
    start: segment.start,
    temperature: 0,
    text: segment.text,
    tokens: [50_364 + id],
  })),
  words: null,
});

/** Like a chat's, and not the public events of transcripts. */
function toChunks({ id, task, segments, created }: Transcript, model: string): Buffer[] {
  const [prefix, object] =
    task === 'translate' ? ['translate', 'translation.chunk'] : ['transcribe', 'transcription.chunk'];
  const chunk = (content: string, finish: string | null): Buffer =>
    toEvent({
      id: `${prefix}-${id}`,
      object,
      created,
      model,
      choices: [{ delta: { content }, ...(finish !== null && { finish_reason: finish, stop_reason: null }) }],
    });
  return [...segments.map(({ text }) => chunk(text, null)), chunk('', 'stop'), toEvent('[DONE]')];
}

/** vLLM with a speech-to-text model: JSON whatever is asked, and a socket that closes stops the work. */
export const vllmAsr: Personality = {
  owner: 'vllm',
  knobs: {},
  transcriptions,
};
