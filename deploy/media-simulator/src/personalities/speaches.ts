import { z } from 'zod';
import { toEvent } from '../wire/answer.ts';
import { EngineError } from '../wire/engineError.ts';
import { flag, formOf, granularities, membersOf, optional, readMembers, WHISPER_LANGUAGES } from './fields.ts';
import type {
  Personality,
  Segment,
  SpeechDialect,
  Transcript,
  TranscriptionDialect,
  TranscriptionRequest,
} from './personality.ts';

function checkModel(asked: string, served: string): void {
  if (asked === served) return;
  const hint = 'You can download the model using `POST /v1/models`';
  throw new EngineError(404, `Model '${asked}' is not installed locally. ${hint}`);
}

const transcriptionSchema = z.object({
  model: z.string(),
  language: optional(z.string().refine((code) => WHISPER_LANGUAGES.has(code), 'Input should be a language of Whisper')),
  prompt: optional(z.string()),
  response_format: optional(z.enum(['text', 'json', 'verbose_json', 'srt', 'vtt'])),
  temperature: optional(z.coerce.number()),
  'timestamp_granularities[]': optional(granularities),
  stream: optional(flag),
});

const transcriptions: TranscriptionDialect = {
  errorForm: 'detail',
  whenClientLeaves: 'goes_on',
  notAudio: [415, 'Failed to decode audio. The provided file type is not supported.'],
  read(body, { model }) {
    const { fields, files } = formOf(body);
    const read = readMembers(fields, transcriptionSchema);
    const issue = { type: 'missing', loc: ['body', 'file'], msg: 'Field required', input: null };
    if (!files.file) throw new EngineError(422, 'Field required', { issues: [issue] });
    checkModel(read.model, model);
    return {
      audio: files.file.bytes,
      format: read.response_format ?? 'json',
      language: read.language ?? null,
      prompt: read.prompt ?? '',
      wantsWords: read['timestamp_granularities[]']?.includes('word') ?? false,
      stream: read.stream ?? false,
    };
  },
  toAnswer(transcript, request) {
    if (!request.stream) return render(transcript, request);
    // An event for each segment, in the format that was asked for, and nothing that says it is the last.
    const events = transcript.segments.map((segment, index) => {
      const part = render({ ...transcript, text: segment.text, segments: [segment] }, request, index);
      return toEvent('json' in part ? part.json : part.text);
    });
    return { events };
  },
};

function render(
  transcript: Transcript,
  { format, wantsWords }: TranscriptionRequest,
  firstIndex = 0,
): { json: object } | { text: string; contentType: string } {
  const { text, segments } = transcript;
  switch (format) {
    case 'json':
      return { json: { text } };
    case 'verbose_json':
      return { json: toVerbose(transcript, wantsWords) };
    case 'text':
      return { text, contentType: 'text/plain; charset=utf-8' };
    case 'srt':
      return {
        text: segments.map((segment, at) => toSrt(segment, at + firstIndex)).join(''),
        contentType: 'text/plain; charset=utf-8',
      };
    case 'vtt':
      return {
        text: segments.map((segment, at) => toVtt(segment, at + firstIndex)).join(''),
        contentType: 'text/vtt; charset=utf-8',
      };
  }
}

const toVerbose = ({ task, language, seconds, text, segments }: Transcript, wantsWords: boolean): object => ({
  task,
  language,
  duration: seconds,
  text,
  words: wantsWords ? segments.flatMap(toWords) : null,
  segments: segments.map((segment, id) => ({
    id: id + 1,
    seek: 0,
    ...segment,
    tokens: [50_364 + id],
    temperature: 0,
    avg_logprob: -0.25,
    compression_ratio: 1.25,
    no_speech_prob: 0.01,
    words: wantsWords ? toWords(segment) : null,
  })),
});

function toWords({ start, end, text }: Segment): object[] {
  const words = text.trim().split(' ');
  const toSeconds = (at: number) => Math.round((start + ((end - start) * at) / words.length) * 100) / 100;
  return words.map((word, at) => ({
    start: toSeconds(at),
    end: toSeconds(at + 1),
    word: ` ${word}`,
    probability: 0.9,
  }));
}

const toSrt = ({ start, end, text }: Segment, index: number): string =>
  `${index + 1}\n${toTime(start, ',')} --> ${toTime(end, ',')}\n${text}\n\n`;

const toVtt = ({ start, end, text }: Segment, index: number): string =>
  `${index === 0 ? 'WEBVTT\n\n' : ''}${toTime(start, '.')} --> ${toTime(end, '.')}\n${text}\n\n`;

function toTime(seconds: number, point: '.' | ','): string {
  const ms = Math.round(seconds * 1_000);
  const [hours, minutes, rest] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, ms % 60_000];
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(hours)}:${two(minutes)}:${two(Math.floor(rest / 1_000))}${point}${String(rest % 1_000).padStart(3, '0')}`;
}

const speechSchema = z.object({
  model: z.string(),
  input: z.string(),
  voice: z.string(),
  response_format: optional(z.enum(['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm'])),
  speed: optional(z.number()),
  stream_format: optional(z.enum(['audio', 'sse'])),
});

const speech: SpeechDialect = {
  errorForm: 'detail',
  whenClientLeaves: 'goes_on',
  read(body, { model, knobs }) {
    const { input, voice, speed = 1, ...rest } = readMembers(membersOf(body), speechSchema);
    checkModel(rest.model, model);
    if (!knobs.voices.includes(voice)) throw new EngineError(422, `Voice '${voice}' is not supported`);
    if (speed < 0.5 || speed > 2) throw new EngineError(422, `speed must be between 0.5 and 2.0, got ${speed}`);
    const delivery = rest.stream_format === 'sse' ? 'events' : 'stream';
    return { input, voice, format: rest.response_format ?? 'mp3', speed, delivery };
  },
  contentTypes: {
    mp3: 'audio/mpeg',
    opus: 'audio/opus',
    aac: 'audio/aac',
    flac: 'audio/flac',
    wav: 'audio/wav',
    pcm: 'audio/pcm',
  },
  toHeaders: () => ({}),
  toDelta: (audio) => toEvent({ type: 'speech.audio.delta', audio: audio.toString('base64') }),
  toDone: () =>
    toEvent({ type: 'speech.audio.done', token_usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 } }),
};

/** faster-whisper and speech beside it: all five formats of a transcript, no usage, and work that nobody can stop. */
export const speaches: Personality = {
  owner: 'speaches',
  knobs: { voices: ['af_heart', 'am_adam'] },
  transcriptions,
  speech,
};
