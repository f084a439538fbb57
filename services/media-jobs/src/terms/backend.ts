import type { Readable } from 'node:stream';
import type { ImageRequest, SpeechFormat, SpeechRequest, TranscriptRequest, VideoRequest } from './mediaRequest.ts';
import type { Transcript } from './transcript.ts';

export type EngineName = 'vllm-omni' | 'sglang' | 'trtllm' | 'vllm-asr' | 'speaches' | 'kokoro';

/** One process of an engine, with one model. */
export interface Replica {
  id: string;
  url: string;
  engine: EngineName;
  /** The canonical id of its model. */
  model: string;
  /** Most concurrent renders. */
  slots: number;
  /** Whether the replica finishes its work and gets no new work. */
  draining: boolean;
}

export type BackendFaultKind =
  /** The request itself is wrong, so every replica would refuse it. */
  | 'refused_request'
  | 'content_refused'
  /** The replica refused before it began. Another replica may take the work, or the same one later. */
  | 'busy'
  | 'unreachable'
  /** The connection broke at once, so probably nothing was begun. One other replica may get the work, but no third. */
  | 'cut_off'
  /** The replica began and failed. */
  | 'failed'
  /** The replica refuses this service, or lacks its own model. */
  | 'misconfigured'
  /** The work may have begun, or a content broke off. */
  | 'answer_lost';

/** Why a backend gave no result; decides the next step. Its message has no text of an engine. */
export class BackendFault extends Error {
  override name = 'BackendFault';
  readonly kind: BackendFaultKind;
  readonly retryAfterMs?: number;
  /** The field that the engine named, if it is a field of this API. */
  readonly param?: string;

  constructor(
    kind: BackendFaultKind,
    { retryAfterMs, param, cause }: { retryAfterMs?: number; param?: string; cause?: unknown } = {},
  ) {
    super(kind, { cause });
    this.kind = kind;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
    if (param !== undefined) this.param = param;
  }
}

/** A job in its backend's answer. */
export interface BackendJob {
  id: string;
  status: 'queued' | 'in_progress' | 'completed' | 'failed';
  progress: number | null;
  failure?: 'generation_failed' | 'content_refused';
}

/** Settings of a model's clips in the catalog. The engine chooses unset ones. */
export interface ClipSettings {
  fps?: number | undefined;
  steps?: number | undefined;
}

/**
 * The operations of one engine's wire; absent if it has none. Every call has deadlines and a signal, and contents are
 * streams with a size limit. Calls reject with a `BackendFault`, or the signal's reason.
 */
export interface Dialect {
  /** Renders one image. Several are requested one by one, so that only one is in memory. */
  image?(replica: Replica, request: ImageRequest, signal: AbortSignal): Promise<Readable>;
  createVideo?(
    replica: Replica,
    request: VideoRequest,
    options: ClipSettings & { signal: AbortSignal },
  ): Promise<BackendJob>;
  getVideo?(replica: Replica, id: string, signal: AbortSignal): Promise<BackendJob | 'missing'>;
  listVideos?(replica: Replica, signal: AbortSignal): AsyncIterable<BackendJob>;
  videoContent?(replica: Replica, id: string, signal: AbortSignal): Promise<Readable>;
  /** Resolves once the job is gone or never existed. */
  deleteVideo?(replica: Replica, id: string, signal: AbortSignal): Promise<void>;
  /** `format` is the engine's format, which may differ from the requested one. */
  speech?(
    replica: Replica,
    request: SpeechRequest,
    signal: AbortSignal,
  ): Promise<{ audio: Readable; format: SpeechFormat }>;
  transcribe?(
    replica: Replica,
    request: TranscriptRequest,
    audio: { path: string; type: string; seconds: number },
    signal: AbortSignal,
  ): Promise<Transcript>;
}
