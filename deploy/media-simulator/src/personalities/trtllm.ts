import { z } from 'zod';
import type { VideoJob } from '../replica/jobRecords.ts';
import { integer, membersOf, optional, parseSize, readMembers, sizeText } from './fields.ts';
import type { ImageDialect, Personality, VideoDialect } from './personality.ts';

const DEFAULT_FPS = 24;
const DEFAULT_STEPS = 40;

/** Fields of both requests. An unknown field is refused. */
const common = {
  prompt: z.string(),
  model: optional(z.string()),
  n: optional(integer.min(1).max(10)),
  size: optional(z.union([sizeText, z.literal('auto')])),
  num_inference_steps: optional(integer.min(1)),
  guidance_scale: optional(z.coerce.number()),
  guidance_rescale: optional(z.coerce.number()),
  negative_prompt: optional(z.string()),
  seed: optional(integer),
  user: optional(z.string()),
};
const imageSchema = z.strictObject({
  ...common,
  response_format: optional(z.enum(['url', 'b64_json'])),
  output_format: optional(z.enum(['png', 'jpeg', 'webp'])),
});
const videoSchema = z.strictObject({
  ...common,
  seconds: optional(z.coerce.number().positive()),
  fps: optional(integer.min(1)),
  output_format: optional(z.enum(['mp4', 'avi', 'auto'])),
});

const sizeOf = (size: string | undefined, otherwise: string): string =>
  size === undefined || size === 'auto' ? otherwise : size;

const images: ImageDialect = {
  errorForm: 'flat',
  whenClientLeaves: 'goes_on',
  read(body) {
    const fields = readMembers(membersOf(body), imageSchema);
    return {
      prompt: fields.prompt,
      count: fields.n ?? 1,
      ...parseSize(sizeOf(fields.size, '1024x1024')),
      steps: fields.num_inference_steps ?? DEFAULT_STEPS,
      seed: fields.seed ?? null,
      format: fields.output_format ?? 'png',
      delivery: fields.response_format ?? 'url',
    };
  },
  toBody: (drawn, { prompt, width, height, format, delivery }, { created }) => ({
    created,
    data: drawn.map(({ bytes, path }) => ({
      b64_json: delivery === 'b64_json' ? bytes.toString('base64') : null,
      url: delivery === 'url' ? path : null,
      revised_prompt: prompt,
    })),
    output_format: format,
    size: `${width}x${height}`,
    quality: 'standard',
  }),
};

const toUnix = (ms: number | null): number | null => (ms === null ? null : Math.floor(ms / 1_000));

/** `error` is a plain text. */
const toJob = (job: VideoJob): object => ({
  completed_at: toUnix(job.completedAt),
  created_at: toUnix(job.createdAt),
  error: job.error?.message ?? null,
  expires_at: null,
  id: job.id,
  model: job.model,
  object: 'video',
  progress: null,
  prompt: job.prompt,
  status: job.status,
  duration: job.seconds === null ? null : Number(job.seconds),
  fps: job.fps,
  size: job.size,
  output_path: job.fileName && `/tmp/trtllm_generated/${job.fileName}`,
});

const videos: VideoDialect = {
  errorForm: 'flat',
  newId: (id) => `video_${id}`,
  createdStatus: 202,
  read(body, { model }) {
    const fields = readMembers(membersOf(body), videoSchema);
    const size = sizeOf(fields.size, '1280x720');
    const fps = fields.fps ?? DEFAULT_FPS;
    return {
      prompt: fields.prompt,
      model: fields.model ?? model,
      seconds: fields.seconds === undefined ? null : String(fields.seconds),
      size,
      ...parseSize(size),
      fps,
      frames: fields.seconds === undefined ? null : Math.round(fields.seconds * fps),
      steps: fields.num_inference_steps ?? DEFAULT_STEPS,
      seed: fields.seed ?? null,
    };
  },
  toBody: toJob,
  toList: (jobs) => ({ object: 'list', data: jobs }),
  toDeleted: () => ({ deleted: true }),
  refusals: {
    noJob: ({ id }) => [404, `Video ${id} not found`],
    unfinished: ({ id, status }) => [400, `Video ${id} is not ready (status: ${status})`],
    failed: ({ id, status }) => [400, `Video ${id} is not ready (status: ${status})`],
    noFile: ({ id }) => [404, `Video ${id} not found`],
  },
};

/** 202 for what was begun, a job is `queued` until its end, an error is a text, a clip may be an AVI. */
export const trtllm: Personality = {
  owner: 'tensorrt_llm',
  knobs: { runningStatus: 'queued' },
  images,
  videos,
};
