import type { Readable } from 'node:stream';
import type { StoredOutput } from '../../terms/job.ts';
import type {
  ImageRequest,
  SpeechFormat,
  SpeechRequest,
  TranscriptRequest,
  VideoRequest,
} from '../../terms/mediaRequest.ts';
import type { Transcript } from '../../terms/transcript.ts';
import type { JobRow } from '../table/jobRow.ts';

/** A file on this disk that is ready to be stored, and what was measured of it. */
export interface MadeFile extends Pick<StoredOutput, 'type' | 'width' | 'height' | 'seconds'> {
  /** Its bytes, as often as they are asked for. */
  read(): Readable;
  discard(): Promise<void>;
}

/** How a transcript is to be shown. */
export type TranscriptForm = Pick<TranscriptRequest, 'responseFormat' | 'granularities'>;

/** A recording as engines get it. */
export interface HeardFile {
  path: string;
  type: string;
  /** Decoded, not rounded. */
  seconds: number;
  discard(): Promise<void>;
}

/** Whose upload it is, and its seconds, rounded up. */
export type UploadJob = Pick<JobRow, 'workspaceId' | 'keyId' | 'unitsBound'>;

/** What an engine gave is not what it should be: empty, broken, too large, of another kind, nothing in it. */
export class InvalidOutput extends Error {
  override name = 'InvalidOutput';
}

/**
 * Reads what an engine gave to its end, under a cap, decodes and measures it, and makes of it what the client asked for. Each throws an
 * `InvalidOutput`, a `BackendFault` `busy` where this machine has too much to do, or what the stream failed with.
 */
export interface Workshop {
  image(source: Readable, request: ImageRequest, signal: AbortSignal): Promise<MadeFile>;
  clip(source: Readable, request: VideoRequest, signal: AbortSignal): Promise<MadeFile>;
  speech(source: Readable, format: SpeechFormat, request: SpeechRequest, signal: AbortSignal): Promise<MadeFile>;
  /** Of an upload that was good when the job was made. */
  recording(source: Readable, job: UploadJob, signal: AbortSignal): Promise<HeardFile>;
  /** Throws an `InvalidOutput` where it cannot be shown as its client asked for it. */
  transcript(transcript: Transcript, form: TranscriptForm): Omit<MadeFile, 'discard'>;
}
