import type { RequestBody } from '../http/readBody.ts';
import type { Knobs } from '../knobs.ts';
import type { ImageFormat } from '../outputs/marks.ts';
import type { VideoJob } from '../replica/jobRecords.ts';
import type { ErrorForm } from '../wire/engineError.ts';

/** The outcome of work when its client has left. */
export type WhenClientLeaves = 'aborts' | 'goes_on';

export interface ImageRequest {
  prompt: string;
  count: number;
  width: number;
  height: number;
  steps: number;
  seed: number | null;
  format: ImageFormat;
  /** `file` is the bytes themselves, `url` a path of the replica. */
  delivery: 'b64_json' | 'url' | 'file';
}

export interface DrawnImage {
  bytes: Buffer;
  format: ImageFormat;
  path: string;
}

export interface VideoRequest {
  prompt: string;
  /** The model's name, as the answer repeats it. */
  model: string;
  seconds: string | null;
  size: string | null;
  width: number;
  height: number;
  fps: number;
  /** Null where the request names no length. */
  frames: number | null;
  steps: number;
  seed: number | null;
}

export interface SpeechRequest {
  input: string;
  voice: string;
  format: Knobs['speechFormats'][number];
  speed: number;
  /** Whole, as bytes while they are made, or as server-sent events. */
  delivery: 'whole' | 'stream' | 'events';
}

export interface TranscriptionRequest {
  audio: Buffer;
  format: 'json' | 'text' | 'srt' | 'verbose_json' | 'vtt';
  language: string | null;
  prompt: string;
  wantsWords: boolean;
  stream: boolean;
}

/** The rules that a request is read by. */
export interface ReadContext {
  model: string;
  knobs: Knobs;
}

interface Dialect<Request> {
  errorForm: ErrorForm;
  whenClientLeaves: WhenClientLeaves;
  /** Throws what the engine answers to a request that it does not take. */
  read: (body: RequestBody, context: ReadContext) => Request;
}

export interface ImageDialect extends Dialect<ImageRequest> {
  toBody: (images: readonly DrawnImage[], request: ImageRequest, about: { id: string; created: number }) => object;
}

export interface VideoDialect extends Omit<Dialect<VideoRequest>, 'whenClientLeaves'> {
  newId: (id: string) => string;
  createdStatus: 200 | 202;
  toBody: (job: VideoJob) => object;
  /** The status of an answer to GET of a job that failed, which its body goes with. */
  toList: (jobs: readonly object[], page: { hasMore: boolean }) => object;
  toDeleted: (job: VideoJob) => object;
  /** Refusals for a missing job, and for content that is not there yet or no longer. */
  refusals: Record<
    'noJob' | 'unfinished' | 'failed' | 'noFile',
    (job: { id: string; status: string }) => [number, string]
  >;
}

export interface SpeechDialect extends Dialect<SpeechRequest> {
  contentTypes: Record<SpeechRequest['format'], string>;
  /** Headers of an answer that is whole. */
  toHeaders: (request: SpeechRequest, seconds: number) => Record<string, string>;
  toDelta: (audio: Buffer, request: SpeechRequest) => Buffer;
  toDone: (request: SpeechRequest, seconds: number) => Buffer;
  /** The event of a failure; without one the stream breaks. */
  toErrorEvent?: (message: string) => Buffer;
  /** `GET /v1/audio/voices`; without it the path is not there. */
  toVoices?: (voices: readonly string[]) => object;
}

export interface Segment {
  start: number;
  end: number;
  text: string;
}

export interface Transcript {
  id: string;
  task: 'transcribe' | 'translate';
  text: string;
  language: string;
  /** Exact. */
  seconds: number;
  segments: Segment[];
  /** Unix seconds. */
  created: number;
}

export interface TranscriptionDialect extends Dialect<TranscriptionRequest> {
  /** In the format that was asked for; events where it is to be streamed. */
  toAnswer: (
    transcript: Transcript,
    request: TranscriptionRequest,
    context: ReadContext,
  ) => { json: object } | { text: string; contentType: string } | { events: Buffer[] };
  /** Refusal of a file that is no audio. */
  notAudio: [status: number, message: string];
}

/** One engine: what it serves, and how each of it looks on the wire. */
export interface Personality {
  /** Knobs that differ from a quick replica without faults. */
  knobs: Partial<Knobs>;
  images?: ImageDialect;
  videos?: VideoDialect;
  speech?: SpeechDialect;
  transcriptions?: TranscriptionDialect;
  /** The owner of its models. */
  owner: string;
}
