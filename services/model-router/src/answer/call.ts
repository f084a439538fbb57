import type { Logger } from '@turnpike/logging/createLogger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { AuthErrorOptions } from '@turnpike/public-api/authFault';
import type { ImageLoader } from '@turnpike/request-reading/images/createImageLoader';
import type { CallSpan } from '@turnpike/telemetry/callSpan';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { CallFault, CutReason, EngineFault } from '../api/inferenceFault.ts';
import type { PricedModel } from '../catalog/catalog.ts';
import type { EngineRegistry } from '../engines/engineRegistry.ts';
import type { EngineUsage } from '../money/call/openCalls.ts';
import type { UsageBound } from '../money/gate/admitCall.ts';
import type { EngineQueue } from '../placement/engineQueue.ts';
import type { CountPromptTokens, InferenceRequest } from '../request/inferenceRequest.ts';
import type { OpenStreams } from './chunks/clientStream.ts';
import type { Payload } from './fields/answerFields.ts';
import type { AnsweredOperation } from './operations/operations.ts';

/** An admitted call. Its fields do not change while it runs. */
export interface Call {
  readonly callId: string;
  readonly keyId: string;
  readonly workspaceId: string;
  readonly operation: AnsweredOperation;
  readonly request: InferenceRequest;
  readonly model: PricedModel;
  /** The worst case that is held for the call, and the output tokens that an engine may generate. */
  readonly bound: UsageBound;
  /** Returns the charge of this call if it ends as a success with this usage. */
  readonly chargeOf: (usage: EngineUsage) => NanoUsd;
  /** Separates the call's prompt in engine caches from the prompts of other workspaces. */
  readonly cacheSalt: string;
  /** Arrival of the request, by `performance.now()`. */
  readonly receivedAt: number;
  readonly span: CallSpan;
  /** Creates the call's logger on first use, because most calls log nothing. */
  readonly log: () => Logger;
}

/** Every way in which an admitted call can end. */
export type Outcome =
  /**
   * The engine's answer is complete. `usage` is the engine's count, if it sent one; `rest` is the part not yet sent to
   * the client.
   */
  (
    | { kind: 'whole'; usage: EngineUsage | undefined; rest: Payload | undefined }
    /** The client left while its images were fetched. */
    | { kind: 'left_before_engine' }
    | { kind: 'left_in_queue' }
    /** The client left a stream before the engine's first event, and no event came within `listenOnMs`. */
    | { kind: 'left_before_event' }
    /** The client left a stream. `usage` is the engine's count up to the moment when the engine was stopped. */
    | { kind: 'left_midway'; usage: EngineUsage | undefined }
    /** The router ended a stream that its engine did not fail. `usage` is the engine's count up to then. */
    | { kind: 'cut'; by: CutReason; afterMs: number; usage: EngineUsage | undefined }
    /**
     * The client got nothing: its images are unusable, no engine took the call, or the engines that took the call
     * failed.
     */
    | { kind: 'refused'; fault: CallFault }
    /** The client got a part of its stream and gets no more. */
    | { kind: 'broken_off'; fault: EngineFault; reason: string }
    /** An error of the router before the engine's first event. */
    | { kind: 'unforeseen'; error: unknown }
  ) & {
    /** The routing target of the last engine that had the call. Undefined if no engine had the call. */
    target?: string | undefined;
  };

export const ENGINE_FAILED: EngineFault = { kind: 'engine_failed' };

/** The dependencies of all calls, created once at the start of the process. */
export interface AnswerDependencies extends Readonly<AuthErrorOptions> {
  readonly engines: Pick<EngineRegistry, 'findEngines' | 'isConfigured' | 'fitWindow' | 'report' | 'retries'>;
  readonly queue: EngineQueue;
  readonly streams: OpenStreams;
  readonly images: ImageLoader;
  readonly countPromptTokens: CountPromptTokens;
  readonly timeouts: AnswerTimeouts;
  readonly metrics: InferenceMetrics;
}

export interface AnswerTimeouts {
  firstEventMs: number;
  betweenEventsMs: number;
  wholeMs: number;
  streamMs: number;
  headersAfterMs: number;
  keepAliveMs: number;
  slowReaderMs: number;
  listenOnMs: number;
}
