import type { Logger } from '@turnpike/logging/createLogger';
import type { CallSpan } from '@turnpike/telemetry/callSpan';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { Response } from 'express';
import type { EngineFault } from '../api/chatFault.ts';
import type { PricedModel } from '../catalog/catalog.ts';
import type { EngineErrorKind } from '../fleet/dispatchToEngine.ts';
import type { Engine } from '../fleet/engine.ts';
import type { EngineRegistry } from '../fleet/engineRegistry.ts';
import type { Placement } from '../fleet/placement/placer.ts';
import type { EngineQueue } from '../fleet/queue/engineQueue.ts';
import type { OpenCall } from '../money/call/callBook.ts';
import type { EngineUsage } from '../money/call/toEvent.ts';
import type { InferenceRequest } from '../request/inferenceRequest.ts';

export interface StreamTimeouts {
  firstEventMs: number;
  betweenEventsMs: number;
  wholeMs: number;
  streamMs: number;
  headersAfterMs: number;
  keepAliveMs: number;
  slowReaderMs: number;
}

/** An admitted call on its way to an engine and back. */
export interface CallContext {
  request: InferenceRequest;
  model: PricedModel;
  call: OpenCall;
  keyId: string;
  workspaceId: string;
  res: Response;
  /** Headers of every answer to this call: the limits. */
  headers: Record<string, string>;
  engineQueue: EngineQueue;
  placement: Placement;
  /** Sent to the engine as `max_tokens`. */
  maxOutputTokens: number;
  cacheSalt: string;
  engines: EngineRegistry;
  span: CallSpan;
  metrics: InferenceMetrics;
  /** When the request came, by `performance.now()`. */
  receivedAt: number;
  timeouts: StreamTimeouts;
  log: Logger;
}

/** What an attempt on one engine came to. */
export type Attempt =
  /** The client has its answer, or is gone; the call is settled. `counted` is the engine's count of a whole answer. */
  | { outcome: 'ended'; counted?: EngineUsage | undefined }
  /** Nothing has reached the client yet: another engine may be tried. */
  | {
      outcome: 'failed';
      fault: EngineFault;
      /** What the exchange broke off with, where the engine did not answer: it may be unwell. */
      broken: EngineErrorKind | undefined;
      /** No other engine could do better: the call itself is over. */
      isFinal: boolean;
    };

export interface AttemptOptions {
  /** 1, then 2. */
  number: number;
  /** Lets the engine go on with the call's trace. */
  traceparent: string | undefined;
  /** To be called when a stream's first event comes from the engine. */
  onFirstEvent: () => void;
  /** To be called when the client does not read its stream: it may be cut then, as others wait. */
  onUnread: (cut: () => void) => void;
  /** To be called when it reads on. */
  onRead: () => void;
  /** Ends the attempt before its first event: the engine does not answer, and another will have the call. */
  signal: AbortSignal;
}

/** Tries an engine. */
export type AttemptOn = (engine: Engine, options: AttemptOptions) => Promise<Attempt>;
