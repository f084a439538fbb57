import type { MediaBillingUnit } from '@turnpike/public-api/modality';
import type { ImageRequest, SpeechRequest, TranscriptRequest, VideoRequest } from './mediaRequest.ts';

/** Request without texts and files of the client, as a job's row holds it. */
export type JobParams =
  | Omit<ImageRequest, 'prompt'>
  | Omit<VideoRequest, 'prompt' | 'inputReference'>
  | Omit<SpeechRequest, 'input' | 'instructions'>
  | Omit<TranscriptRequest, 'file' | 'prompt'>;

/** Reason of a failed job, for clients. */
export type JobErrorCode =
  | 'generation_failed'
  | 'content_refused'
  | 'invalid_output'
  | 'timed_out'
  | 'queue_timeout'
  | 'backend_lost'
  | 'storage_unavailable'
  | 'model_deactivated';

/** An output in the object store. A transcript is the JSON of a `Transcript`. */
export interface StoredOutput {
  key: string;
  bytes: number;
  sha256: string;
  /** Its media type. */
  type: string;
  width?: number;
  height?: number;
  /** Decoded, not rounded. */
  seconds?: number;
}

/** A job as its client sees it. */
export interface ShownJob {
  id: string;
  status: 'queued' | 'in_progress' | 'completed' | 'failed';
  /** Per cent; below 100 until it is completed. */
  progress: number;
  /** How many jobs have their turn before it; null unless it is queued. */
  queuePosition: number | null;
  params: JobParams;
  /** A video's; null of the others. */
  prompt: string | null;
  createdAt: Date;
  completedAt: Date | null;
  expiresAt: Date | null;
  errorCode: JobErrorCode | null;
  /** In the requested order; empty unless the job is completed. */
  outputs: StoredOutput[];
  /** Null until it has ended. */
  usage: { billingUnit: MediaBillingUnit; units: number; chargeNanoUsd: bigint } | null;
}
