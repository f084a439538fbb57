export const MEDIA_KINDS = [
  'images',
  'image job',
  'video',
  'speech',
  'speech job',
  'transcript',
  'transcript job',
] as const;
/** The kind of the request: the answer itself, or a job. A video is always a job. */
export type MediaKind = (typeof MEDIA_KINDS)[number];

/**
 * How a media call ended for its client:
 * - `ok`: the whole answer, or a completed job whose content came whole
 * - `failed`: a job that failed
 * - `deleted`: a job that its client deleted, and that was gone then
 * - `gone`: a job that nobody deleted, and that was gone
 * - `broken`: the connection broke before a whole answer to its creation
 * - `hung`: nothing ended it within the client's patience
 * - `malformed`: an answer that the API does not describe
 * - the status of an error in place of an answer or a job
 */
export type MediaOutcome = 'ok' | 'failed' | 'deleted' | 'gone' | 'broken' | 'hung' | 'malformed' | `${number}`;

/** A file that a client has in the end. */
export interface HeldFile {
  sha256: string;
  /** Mark of the render that it came from; null if none can be read. */
  mark: string | null;
}

/** All that a client knows of one media call. */
export interface MediaRecord {
  kind: MediaKind;
  /** The prompt or text, of this call alone unless the load has one for all; of a recording, nothing that a backend sees. */
  prompt: string;
  /** Units that can be charged: images, seconds, characters. */
  units: number;
  outcome: MediaOutcome;
  /** `code` or message of an error. */
  error: string | undefined;
  /** How often its client sent it again. */
  repeats: number;
  /** Undefined where no job was named. */
  jobId: string | undefined;
  /** The charge by the job, once it had ended. */
  usage: { units: number; spend: number } | undefined;
  /** The images or the clip that it has, whole; of sound it keeps nothing. */
  held: HeldFile[];
  /** Each status of the job that was seen, in order and once in a row. */
  seen: string[];
  startedAt: number;
  endedAt: number;
}

/** Whether a call was refused because all decoders were busy, which says nothing about a fault. */
export function isOverloaded({ outcome, error = '' }: MediaRecord): boolean {
  return outcome === '503' && error.startsWith('transcode_overloaded');
}
