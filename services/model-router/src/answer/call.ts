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

/** An admitted call. Nothing of it changes on its way. */
export interface Call {
  readonly callId: string;
  readonly keyId: string;
  readonly workspaceId: string;
  readonly operation: AnsweredOperation;
  readonly request: InferenceRequest;
  readonly model: PricedModel;
  /** What is held for it, and how many tokens it may have of an engine. */
  readonly bound: UsageBound;
  /** Returns the charge of this call if it ends as a success with this usage. */
  readonly chargeOf: (usage: EngineUsage) => NanoUsd;
  /** Keeps what engines cache of it apart from other workspaces' prompts. */
  readonly cacheSalt: string;
  /** When the request came, by `performance.now()`. */
  readonly receivedAt: number;
  readonly span: CallSpan;
  /** Makes a log whose lines name the call: of most there is nothing to say. */
  readonly log: () => Logger;
}

/** How an admitted call came out: all the ways there are. */
export type Outcome =
  /** The engine's answer is whole. `usage` is its own count, if it gave one; `rest` is what the client has not been sent yet. */
  (
    | { kind: 'whole'; usage: EngineUsage | undefined; rest: Payload | undefined }
    /** The client left while its images were fetched. */
    | { kind: 'left_before_engine' }
    | { kind: 'left_in_queue' }
    /** The client left a stream of which no event had come from the engine, and none came soon after. */
    | { kind: 'left_before_event' }
    /** The client left a stream; `usage` is the engine's count up to when it was told to stop. */
    | { kind: 'left_midway'; usage: EngineUsage | undefined }
    /** The router ended a stream that its engine did not fail; `usage` is the engine's count up to then. */
    | { kind: 'cut'; by: CutReason; afterMs: number; usage: EngineUsage | undefined }
    /** Nothing has reached the client: its images cannot be used, no engine could have the call, or the ones that had it failed. */
    | { kind: 'refused'; fault: CallFault }
    /** The client has some of its stream, and gets no more. */
    | { kind: 'broken_off'; fault: EngineFault; reason: string }
    /** A mistake of ours, before any event of the engine. */
    | { kind: 'unforeseen'; error: unknown }
  ) & {
    /** The routing target whose engine had the call last; undefined where none had it. */
    target?: string | undefined;
  };

export const ENGINE_FAILED: EngineFault = { kind: 'engine_failed' };

/** What all calls are answered with: bound once, at the start of the process. */
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
