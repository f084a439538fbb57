import { z } from 'zod';
import { MEDIA_BILLING_UNITS } from './modality.ts';
import { usdAmount } from './usdAmount.ts';

/** Why a job failed, as clients are told. */
export const JOB_ERROR_CODES = [
  'generation_failed',
  'content_refused',
  'invalid_output',
  'timed_out',
  'queue_timeout',
  'backend_lost',
  'storage_unavailable',
  'model_deactivated',
] as const;

const unixTime = z.int().min(0);

/** Measured amount and cost. */
export const mediaUsageSchema = z
  .strictObject({
    billing_unit: z.enum(MEDIA_BILLING_UNITS),
    units_consumed: z
      .number()
      .min(0)
      .meta({ description: 'The measured amount in billing units: 90 s by the minute are 1.5.' }),
    total_spend: usdAmount.meta({ description: 'USD, exact to the nano-dollar; 0 unless it was completed.' }),
  })
  .meta({ title: 'Media usage', description: 'The measured units and the cost.' });

/** Fields of jobs of every kind. */
export const jobFields = {
  status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
  progress: z.int().min(0).max(100).meta({ description: 'Per cent; below 100 until it is completed.' }),
  model: z.string().meta({ description: 'Canonical id.' }),
  created_at: unixTime,
  completed_at: unixTime.nullable(),
  expires_at: unixTime.nullable().meta({ description: 'From when on the job and its outputs are 404.' }),
  queue_position: z.int().min(0).nullable().meta({ description: 'Jobs before it in the queue, while it is queued.' }),
  error: z
    .strictObject({ code: z.enum(JOB_ERROR_CODES), message: z.string() })
    .nullable()
    .meta({ description: 'Why it failed.' }),
  usage: mediaUsageSchema.nullable().meta({ description: 'Null until it has ended.' }),
};

/** A job of images or audio. */
export const mediaJobSchema = z
  .strictObject({
    id: z.string(),
    object: z.enum(['image.job', 'audio.job']),
    operation: z.enum(['images.generations', 'audio.speech', 'audio.transcriptions', 'audio.translations']),
    ...jobFields,
    data: z
      .array(z.strictObject({ url: z.url() }))
      .nullable()
      .meta({
        description: 'URLs of the images, which need the same key; null for audio, and until they are ready.',
      }),
  })
  .meta({ title: 'Media job', description: 'A job of images or audio, which is kept for 24 hours after its end.' });

/** Answer to the deletion of a job. */
export const deletedJobSchema = z
  .strictObject({
    id: z.string(),
    object: z.enum(['image.job.deleted', 'audio.job.deleted', 'video.deleted']),
    deleted: z.literal(true),
  })
  .meta({ title: 'Deleted job', description: 'An unfinished job is cancelled by it; a finished one is removed.' });

export type MediaUsage = z.infer<typeof mediaUsageSchema>;
export type MediaJob = z.infer<typeof mediaJobSchema>;
export type DeletedJob = z.infer<typeof deletedJobSchema>;
export type JobErrorCode = (typeof JOB_ERROR_CODES)[number];
