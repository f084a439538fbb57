import { z } from 'zod';
import type { RequestBody } from '../http/readBody.ts';
import { IMAGE_FORMATS } from '../outputs/marks.ts';
import type { VideoJob } from '../replica/jobRecords.ts';
import { EngineError } from '../wire/engineError.ts';
import { integer, membersOf, optional, parseSize, readMembers, sizeText } from './fields.ts';
import type { ImageDialect, Personality, VideoDialect, VideoRequest } from './personality.ts';

const DEFAULT_FPS = 24;
const DEFAULT_SECONDS = 4;
const DEFAULT_STEPS = 30;
const DEFAULT_SEED = 1_024;

const imageSchema = z.object({
  prompt: z.string(),
  model: optional(z.string()),
  n: optional(z.int()),
  size: optional(sizeText),
  response_format: optional(z.string()),
  output_format: optional(z.string()),
  num_inference_steps: optional(integer.min(1)),
  seed: optional(integer),
});

const images: ImageDialect = {
  errorForm: 'detail',
  whenClientLeaves: 'goes_on',
  read(body) {
    const fields = readMembers(membersOf(body), imageSchema);
    const delivery = fields.response_format ?? 'url';
    if (delivery !== 'url' && delivery !== 'b64_json')
      throw new EngineError(400, `response_format=${delivery} is not supported`);
    return {
      prompt: fields.prompt,
      count: Math.max(1, Math.min(fields.n ?? 1, 10)),
      ...parseSize(fields.size ?? '1024x1024'),
      steps: fields.num_inference_steps ?? DEFAULT_STEPS,
      seed: fields.seed ?? DEFAULT_SEED,
      // An unknown format becomes PNG.
      format: IMAGE_FORMATS.find((name) => name === fields.output_format) ?? 'png',
      delivery,
    };
  },
  toBody: (drawn, { prompt, delivery }, { id, created }) => ({
    id,
    created,
    data: drawn.map(({ bytes, path }) => ({
      b64_json: delivery === 'b64_json' ? bytes.toString('base64') : null,
      url: delivery === 'url' ? path : null,
      revised_prompt: prompt,
      file_path: null,
    })),
    peak_memory_mb: null,
    inference_time_s: null,
  }),
};

const videoSchema = z.object({
  prompt: z.string().min(1),
  model: optional(z.string()),
  seconds: optional(integer),
  size: optional(sizeText),
  fps: optional(integer.min(1)),
  num_frames: optional(integer.min(1)),
  num_inference_steps: optional(integer.min(1)),
  seed: optional(integer),
});

/** JSON or a form; mistakes are one sentence. */
function readVideo(body: RequestBody): VideoRequest {
  const read = videoSchema.safeParse(membersOf(body));
  if (!read.success) throw new EngineError(400, `Invalid request body: ${z.prettifyError(read.error)}`);
  const { prompt, model, seconds = DEFAULT_SECONDS, size, fps = DEFAULT_FPS, ...rest } = read.data;
  return {
    prompt,
    model: model ?? 'sora-2', // the name is repeated, whatever model is served
    seconds: String(seconds),
    size: size ?? '1280x720',
    ...parseSize(size ?? '1280x720'),
    fps,
    frames: rest.num_frames ?? seconds * fps,
    steps: rest.num_inference_steps ?? DEFAULT_STEPS,
    seed: rest.seed ?? DEFAULT_SEED,
  };
}

const toUnix = (ms: number | null): number | null => (ms === null ? null : Math.floor(ms / 1_000));

const toJob = (job: VideoJob): object => ({
  id: job.id,
  object: 'video',
  model: job.model,
  status: job.status,
  progress: job.progress,
  created_at: toUnix(job.createdAt),
  size: job.size,
  seconds: String(Math.round(job.frames / job.fps)),
  quality: 'standard',
  url: null,
  remixed_from_video_id: null,
  completed_at: toUnix(job.completedAt),
  expires_at: null,
  error: job.error && { message: job.error.message },
  file_path: job.fileName && `outputs/${job.fileName}`,
  peak_memory_mb: null,
  inference_time_s: job.renderSeconds,
});

const videos: VideoDialect = {
  errorForm: 'detail',
  newId: (id) => id,
  createdStatus: 200,
  read: readVideo,
  toBody: toJob,
  toList: (jobs) => ({ data: jobs, object: 'list' }),
  toDeleted: (job) => ({ ...toJob(job), status: 'deleted' }),
  refusals: {
    noJob: () => [404, 'Video not found'],
    unfinished: () => [404, 'Generation is still in-progress'],
    failed: () => [404, 'Generation is still in-progress'],
    noFile: () => [404, 'Generation is still in-progress'],
  },
};

/** Jobs go from `queued` to their end, DELETE takes the record and leaves render and file, no prompt is shown. */
export const sglang: Personality = {
  owner: 'sglang',
  knobs: { runningStatus: 'queued', deleteAborts: false, deleteRemovesFile: false },
  images,
  videos,
};
