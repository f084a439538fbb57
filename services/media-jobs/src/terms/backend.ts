import type { Readable } from 'node:stream';
import type { ImageRequest, SpeechFormat, SpeechRequest, TranscriptRequest, VideoRequest } from './mediaRequest.ts';
import type { Transcript } from './transcript.ts';

export type EngineName = 'vllm-omni' | 'sglang' | 'trtllm' | 'vllm-asr' | 'speaches' | 'kokoro';

/** One process of an engine, with one model. */
export interface Replica {
  id: string;
  url: string;
  engine: EngineName;
  /** The canonical id of its model, as the catalog has it. */
  model: string;
  /** Renders that it is given at a time. */
  slots: number;
  /** The replica finishes its work, and gets nothing new. */
  draining: boolean;
}

export type BackendFaultKind =
  /** The request itself is wrong: another replica would say the same. */
  | 'refused_request'
  | 'content_refused'
  /** The replica refused before it began: another replica may be asked, or later. */
  | 'busy'
  | 'unreachable'
  /** Its connection broke at once: most likely nothing was begun, but nobody knows. Another replica, and no third. */
  | 'cut_off'
  /** The replica began and failed. */
  | 'failed'
  /** The replica refuses us, or does not have its own model. */
  | 'misconfigured'
  /** The work may have begun, or a content broke off. */
  | 'answer_lost';

/** Why a backend gave nothing: decides what is done next. Its message holds no text of an engine. */
export class BackendFault extends Error {
  override name = 'BackendFault';
  readonly kind: BackendFaultKind;
  readonly retryAfterMs?: number;
  /** The field that the engine named, where it is a field of ours. */
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

/** A job as its backend shows it. */
export interface BackendJob {
  id: string;
  status: 'queued' | 'in_progress' | 'completed' | 'failed';
  progress: number | null;
  failure?: 'generation_failed' | 'content_refused';
}

/** Settings of a model's clips in the catalog. The engine decides about those that are not set. */
export interface ClipSettings {
  fps?: number | undefined;
  steps?: number | undefined;
}

/**
 * The operations of one engine's wire; absent where it has none. Every call has deadlines and a signal; contents are streams
 * under a cap. What fails is a `BackendFault`, or the signal's reason.
 */
export interface Dialect {
  /** One image: several are asked for one by one, so that one is in memory at a time. */
  image?(replica: Replica, request: ImageRequest, signal: AbortSignal): Promise<Readable>;
  createVideo?(
    replica: Replica,
    request: VideoRequest,
    options: ClipSettings & { signal: AbortSignal },
  ): Promise<BackendJob>;
  getVideo?(replica: Replica, id: string, signal: AbortSignal): Promise<BackendJob | 'missing'>;
  listVideos?(replica: Replica, signal: AbortSignal): AsyncIterable<BackendJob>;
  videoContent?(replica: Replica, id: string, signal: AbortSignal): Promise<Readable>;
  /** Resolves when it is gone or was never there. */
  deleteVideo?(replica: Replica, id: string, signal: AbortSignal): Promise<void>;
  /** `format` is what the engine made, which may be another than was asked for. */
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
