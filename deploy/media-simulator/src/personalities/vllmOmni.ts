import { z } from 'zod';
import type { RequestBody } from '../http/readBody.ts';
import { IMAGE_FORMATS } from '../outputs/marks.ts';
import type { VideoJob } from '../replica/jobRecords.ts';
import { toEvent } from '../wire/answer.ts';
import { EngineError } from '../wire/engineError.ts';
import { integer, membersOf, optional, parseSize, readMembers, sizeText } from './fields.ts';
import type {
  ImageDialect,
  ImageRequest,
  Personality,
  ReadContext,
  SpeechDialect,
  SpeechRequest,
  VideoDialect,
  VideoRequest,
} from './personality.ts';

const DEFAULT_FPS = 24;
const DEFAULT_VIDEO_SIZE = '832x480';
const DEFAULT_STEPS = 20;
const MAX_PIXELS = 4_096 * 4_096;

const stepsField = optional(integer.min(1).max(200));

const imageSchema = z.object({
  prompt: z.string(),
  model: optional(z.string()),
  n: optional(z.int().min(1).max(10)),
  size: optional(sizeText),
  response_format: optional(z.enum(['b64_json', 'file'], "Only 'b64_json' or 'file' response format is supported")),
  output_format: optional(z.string()),
  num_inference_steps: stepsField,
  guidance_scale: optional(z.number().min(0).max(20)),
  seed: optional(integer),
});

function readImage(body: RequestBody, { model }: ReadContext): ImageRequest {
  const fields = readMembers(membersOf(body), imageSchema);
  checkModel(fields.model, model);
  const { width, height } = parseSize(fields.size ?? '1024x1024');
  if (width * height > MAX_PIXELS)
    throw new EngineError(400, `Requested size ${fields.size} exceeds the maximum pixels`);
  const format = IMAGE_FORMATS.find((name) => name === (fields.output_format ?? 'png'));
  if (!format) throw new EngineError(400, `Invalid output format: ${fields.output_format}`);
  return {
    prompt: fields.prompt,
    count: fields.n ?? 1,
    width,
    height,
    steps: fields.num_inference_steps ?? DEFAULT_STEPS,
    seed: fields.seed ?? null,
    format,
    delivery: fields.response_format ?? 'b64_json',
  };
}

const images: ImageDialect = {
  errorForm: 'detail',
  whenClientLeaves: 'goes_on',
  read: readImage,
  toBody: (drawn, { width, height, format }, { created }) => ({
    created,
    data: drawn.map(({ bytes }) => ({ b64_json: bytes.toString('base64'), url: null, revised_prompt: null })),
    output_format: format,
    size: `${width}x${height}`,
    cot_output: null,
    metrics: { num_images: drawn.length },
  }),
};

const videoSchema = z.object({
  prompt: z.string(),
  model: optional(z.string()),
  seconds: optional(z.string().regex(/^[1-9]\d*$/, "String should match pattern '^[1-9]\\d*$'")),
  size: optional(sizeText),
  width: optional(integer.min(1)),
  height: optional(integer.min(1)),
  fps: optional(integer.min(1)),
  num_frames: optional(integer.min(1)),
  num_inference_steps: stepsField,
  guidance_scale: optional(z.coerce.number().min(0).max(20)),
  seed: optional(integer),
});

/** Forms only. Frames count before seconds; who names neither gets one frame. */
function readVideo(body: RequestBody, { model }: ReadContext, { checksModel }: { checksModel: boolean }): VideoRequest {
  const fields = readMembers(body.kind === 'form' ? body.fields : {}, videoSchema);
  if (checksModel) checkModel(fields.model, model);
  const fps = fields.fps ?? DEFAULT_FPS;
  const named = fields.width && fields.height ? { width: fields.width, height: fields.height } : undefined;
  return {
    prompt: fields.prompt,
    model,
    seconds: fields.seconds ?? null,
    size: fields.size ?? null,
    ...(named && !fields.size ? named : parseSize(fields.size ?? DEFAULT_VIDEO_SIZE)),
    fps,
    frames: fields.num_frames ?? (fields.seconds ? Number(fields.seconds) * fps : null),
    steps: fields.num_inference_steps ?? DEFAULT_STEPS,
    seed: fields.seed ?? null,
  };
}

function checkModel(asked: string | undefined, served: string): void {
  if (asked === undefined || asked === served) return;
  throw new EngineError(400, `Model mismatch: request specifies '${asked}' but server is running '${served}'.`);
}

const toUnix = (ms: number | null): number | null => (ms === null ? null : Math.floor(ms / 1_000));

/** Repeats the request's values, not those of the result. */
const toJob = (job: VideoJob, error: object | null): object => ({
  model: job.model,
  prompt: job.prompt,
  id: job.id,
  object: 'video',
  status: job.status,
  size: job.size,
  progress: job.progress,
  seconds: job.seconds ?? '4',
  quality: 'default',
  completed_at: toUnix(job.completedAt),
  created_at: toUnix(job.createdAt),
  remixed_from_video_id: null,
  error,
  media_type: 'video/mp4',
  expires_at: null,
  file_name: job.fileName,
  inference_time_s: job.renderSeconds,
  stage_durations: {},
  peak_memory_mb: 0,
});

const videos = {
  errorForm: 'detail',
  newId: (id) => `video_gen_${id}`,
  createdStatus: 200,
  toBody: (job) => toJob(job, job.error && { code: job.error.status, message: job.error.message }),
  read: (body, context) => readVideo(body, context, { checksModel: true }),
  toList: (jobs, { hasMore }) => ({
    first_id: idOf(jobs[0]),
    last_id: idOf(jobs.at(-1)),
    has_more: hasMore,
    data: jobs,
    object: 'list',
  }),
  toDeleted: ({ id }) => ({ id, deleted: true, object: 'video.deleted' }),
  refusals: {
    noJob: () => [404, 'Video not found'],
    unfinished: () => [404, 'Generation is still in-progress'],
    failed: () => [422, 'Video generation failed. Check job status for error details.'],
    noFile: () => [404, 'Generated video file not found on disk'],
  },
} satisfies VideoDialect;

const idOf = (job: object | undefined): unknown => (job && 'id' in job ? job.id : null);

const speechSchema = z.object({
  input: z.string().min(1, 'Input text cannot be empty'),
  model: optional(z.string()),
  voice: optional(z.string()),
  instructions: optional(z.string()),
  response_format: optional(z.enum(['wav', 'pcm', 'flac', 'mp3', 'aac', 'opus'])),
  speed: optional(z.number().min(0.25).max(4)),
  stream: optional(z.boolean()),
  stream_format: optional(z.enum(['audio', 'sse'])),
});

const deliveries = { audio: 'stream', sse: 'events' } as const;

function readSpeech(body: RequestBody, { model, knobs }: ReadContext): SpeechRequest {
  const fields = readMembers(membersOf(body), speechSchema);
  const { response_format: format = 'wav', speed = 1, stream_format, voice = knobs.voices[0] ?? '' } = fields;
  if (fields.model !== undefined && fields.model !== model) {
    throw new EngineError(404, `The model \`${fields.model}\` does not exist.`, { param: 'model' });
  }
  if (!knobs.voices.includes(voice.toLowerCase())) {
    throw new EngineError(400, `Invalid voice '${voice}'. Supported: ${knobs.voices.join(', ')}`, { param: 'voice' });
  }
  if (!knobs.speechFormats.includes(format)) {
    throw new EngineError(400, `Unsupported response_format: ${format}`, { param: 'response_format' });
  }
  const streamed = stream_format ?? (fields.stream ? 'sse' : undefined);
  const canStream = (format === 'pcm' || format === 'wav') && speed === 1;
  if (streamed && !canStream) {
    throw new EngineError(400, "Streaming requires response_format 'pcm' or 'wav' and speed 1.0", { param: 'stream' });
  }
  return { input: fields.input, voice, format, speed, delivery: streamed ? deliveries[streamed] : 'whole' };
}

/** Tokens are counted somehow: nobody is to trust them. */
function toUsage({ input }: SpeechRequest, seconds: number) {
  const inputTokens = Math.ceil(input.length / 4);
  const outputTokens = Math.ceil(seconds * 12.5);
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    input_token_details: { text_tokens: inputTokens, audio_tokens: 0 },
  };
}

const speech: SpeechDialect = {
  errorForm: 'envelope',
  whenClientLeaves: 'aborts',
  read: readSpeech,
  contentTypes: {
    wav: 'audio/wav',
    pcm: 'audio/pcm',
    flac: 'audio/flac',
    mp3: 'audio/mpeg',
    aac: 'audio/aac',
    opus: 'audio/ogg',
  },
  toHeaders(request, seconds) {
    const usage = toUsage(request, seconds);
    return {
      'x-vllm-omni-input-tokens': String(usage.input_tokens),
      'x-vllm-omni-output-tokens': String(usage.output_tokens),
      'x-vllm-omni-total-tokens': String(usage.total_tokens),
      'x-vllm-omni-input-text-tokens': String(usage.input_tokens),
      'x-vllm-omni-input-audio-tokens': '0',
    };
  },
  toDelta: (audio, { format }) =>
    toNamedEvent({ type: 'speech.audio.delta', audio: audio.toString('base64'), response_format: format }),
  toDone: (request, seconds) => toNamedEvent({ type: 'speech.audio.done', usage: toUsage(request, seconds) }),
  toErrorEvent: (message) =>
    toNamedEvent({ type: 'speech.audio.error', error: { message, type: 'server_error', param: null, code: 500 } }),
  toVoices: (voices) => ({ voices, uploaded_voices: [] }),
};

/** Writes each event with its name in a line of its own. */
const toNamedEvent = (data: { type: string; [member: string]: unknown }): Buffer => toEvent(data, data.type);

/** The behavior in autumn 2026: a failed job answers with its error's status, and DELETE stops the render. */
export const vllmOmni2026: Personality = {
  owner: 'vllm-omni',
  knobs: { failedJobStatus: 'error', speechFormats: ['wav', 'pcm', 'flac', 'mp3', 'opus'], defaultFrames: 1 },
  images,
  videos,
  speech,
};

/**
 * The behavior of its first releases: a job is in progress at once, a failed job is a 200, and DELETE leaves the render running.
 */
export const vllmOmniEarly: Personality = {
  ...vllmOmni2026,
  knobs: {
    ...vllmOmni2026.knobs,
    failedJobStatus: 'ok',
    waitingStatus: 'in_progress',
    deleteAborts: false,
  },
  videos: {
    ...videos,
    toBody: (job) => toJob(job, job.error && { code: 'EngineGenerateError', message: job.error.message }),
    read: (body, context) => readVideo(body, context, { checksModel: false }),
  },
};
