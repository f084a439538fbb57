import type { Logger } from '@turnpike/logging/createLogger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import type { AuthErrorOptions } from '@turnpike/public-api/authFault';
import type { ImageLoader } from '@turnpike/request-reading/images/createImageLoader';
import type { CallSpan } from '@turnpike/telemetry/callSpan';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { PricedModel } from '../catalog/catalog.ts';
import type { EngineRegistry } from '../engines/engineRegistry.ts';
import type { EngineUsage } from '../money/call/openCalls.ts';
import type { UsageBound } from '../money/gate/boundUsage.ts';
import type { EngineQueue } from '../placement/engineQueue.ts';
import type { CountPromptTokens, InferenceRequest } from '../request/inferenceRequest.ts';
import type { OpenStreams } from './chunks/clientStream.ts';
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
