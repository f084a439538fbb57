import { toUsdNumber } from '@turnpike/money/nanoUsd';
import { toUnitsConsumed } from '@turnpike/money/unitPrice';
import { retryAfter } from '@turnpike/public-api/headers';
import type { DeletedJob, MediaJob, MediaUsage } from '@turnpike/public-api/mediaJob';
import type { Video, VideoList } from '@turnpike/public-api/video';
import { JOB_ERROR_MESSAGES } from '../../api/mediaError.ts';
import type { ShownJob } from '../../terms/job.ts';
import type { Size } from '../../terms/mediaRequest.ts';

/** Whole seconds, as the convention has instants. */
export const toUnixTime = (at: Date): number => Math.floor(at.getTime() / 1_000);

/** Writes a size like requests do: `1024x1024`. */
export const toSizeText = ({ width, height }: Size): string => `${width}x${height}`;

/** Returns the measure and its cost. */
export const toUsageBody = ({ billingUnit, units, chargeNanoUsd }: NonNullable<ShownJob['usage']>): MediaUsage => ({
  billing_unit: billingUnit,
  units_consumed: toUnitsConsumed(BigInt(units), billingUnit),
  total_spend: toUsdNumber(chargeNanoUsd),
});

/** Returns the fields of jobs of all kinds. */
const toJobFields = (job: ShownJob) => ({
  status: job.status,
  progress: job.progress,
  model: job.params.model,
  created_at: toUnixTime(job.createdAt),
  completed_at: job.completedAt && toUnixTime(job.completedAt),
  expires_at: job.expiresAt && toUnixTime(job.expiresAt),
  queue_position: job.queuePosition,
  error: job.errorCode && { code: job.errorCode, message: JOB_ERROR_MESSAGES[job.errorCode] },
  usage: job.usage && toUsageBody(job.usage),
});

/** `publicUrl` is the address by which clients reach the region. Throws for a job of another kind, as `toVideoBody` does. */
export function toMediaJobBody(job: ShownJob, { publicUrl }: { publicUrl: string }): MediaJob {
  const { operation } = job.params;
  if (operation === 'videos') throw new Error('a video is shown as one');
  const isImage = operation === 'images.generations';
  return {
    id: job.id,
    object: isImage ? 'image.job' : 'audio.job',
    operation,
    ...toJobFields(job),
    data: isImage && job.status === 'completed' ? toImageLinks(job, publicUrl) : null,
  };
}

/** Returns the addresses of a job's images, for the key that made it. */
export const toImageLinks = ({ id, outputs }: Pick<ShownJob, 'id' | 'outputs'>, publicUrl: string): { url: string }[] =>
  outputs.map((_output, index) => ({
    url: new URL(`/v1/images/jobs/${id}/content?index=${index}`, publicUrl).href,
  }));

export function toVideoBody(job: ShownJob): Video {
  const { params } = job;
  if (params.operation !== 'videos') throw new Error('only a video is shown as one');
  return {
    id: job.id,
    object: 'video',
    ...toJobFields(job),
    prompt: job.prompt,
    seconds: String(params.seconds),
    size: toSizeText(params.size),
    remixed_from_video_id: null,
  };
}

/** One page of a list. */
export function toVideoListBody(jobs: readonly ShownJob[], { hasMore }: { hasMore: boolean }): VideoList {
  return {
    object: 'list',
    data: jobs.map(toVideoBody),
    first_id: jobs[0]?.id ?? null,
    last_id: jobs.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}

export const toDeletedBody = (id: string, object: MediaJob['object'] | Video['object']): DeletedJob => ({
  id,
  object: `${object}.deleted`,
  deleted: true,
});

/** A change of a render is seen no sooner. */
const LEAST_MS = 1_000;
/** For each job that has its turn before. */
const PER_QUEUED_MS = 1_000;
const MOST_MS = 10_000;

/**
 * Returns headers with the time until the next useful poll of a job, which usual clients wait for. Returns none once
 * the job has ended.
 */
export function toPollHeaders({
  status,
  queuePosition,
}: Pick<ShownJob, 'status' | 'queuePosition'>): Record<string, string> {
  if (status === 'completed' || status === 'failed') return {};
  const ms = Math.min(LEAST_MS + (queuePosition ?? 0) * PER_QUEUED_MS, MOST_MS);
  return { 'openai-poll-after-ms': String(ms), ...retryAfter(ms / 1_000) };
}
