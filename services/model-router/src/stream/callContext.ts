import type { Logger } from '@turnpike/logging/createLogger';
import type { CallSpan } from '@turnpike/telemetry/callSpan';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { Response } from 'express';
import type { PricedModel } from '../catalog/catalog.ts';
import type { EngineErrorKind } from '../engines/dispatchToEngine.ts';
import type { Engine, EngineRegistry } from '../engines/engineRegistry.ts';
import type { Placement } from '../engines/placeCall.ts';
import type { OpenCall } from '../settlement/callBook.ts';
import type { EngineFault } from '../wire/chatFault.ts';
import type { InferenceRequest } from '../wire/inferenceRequest.ts';

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
  res: Response;
  /** Headers of every answer to this call: the limits. */
  headers: Record<string, string>;
  placement: Placement;
  /** Sent to the engine as `max_tokens`, and counted as load while the call runs. */
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
  /** The client has its answer, or is gone; the call is settled. */
  | { outcome: 'ended' }
  /** Nothing has reached the client yet: another engine may be tried. */
  | {
      outcome: 'failed';
      fault: EngineFault;
      /** What the exchange broke off with, where the engine did not answer: it may be unwell. */
      broken: EngineErrorKind | undefined;
      /** No other engine could do better: the call itself is over. */
      isFinal: boolean;
    };

/** Tries an engine. `traceparent` lets it go on with the call's trace. */
export type AttemptOn = (
  engine: Engine,
  options: { number: number; traceparent: string | undefined },
) => Promise<Attempt>;
