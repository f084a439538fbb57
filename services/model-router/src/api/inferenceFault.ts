import type { GateFault, Shortfall } from '@turnpike/holds/gate/gateFault';
import type { GuardFault } from '@turnpike/public-api/authFault';
import type { ModelNotAllowed } from '@turnpike/public-api/modelNotAllowed';
import type { BodyFault } from '@turnpike/request-reading/faults/bodyFault';
import type { KeyBoundFault, RequestFault } from '@turnpike/request-reading/faults/requestFault';

/** Why a model of this name is not served. */
export type ModelFault =
  | { kind: 'unknown_model'; didYouMean: string[]; suggestedModel?: string }
  /** The catalog has the model, but no engine of the region is configured for it. */
  | { kind: 'model_without_capacity'; model: string }
  | { kind: 'model_disabled'; model: string }
  | ModelNotAllowed;

/** Why gate 4 refuses a call. */
export type AdmissionFault =
  | GateFault
  | (Shortfall & { kind: 'insufficient_balance'; affordableOutputTokens: number })
  | { kind: 'catalog_unavailable' };

/**
 * Why the router ends a stream that its engine did not fail: deadline, shutdown, router error, or tool calls that
 * cannot be shown.
 */
export type CutReason = 'too_long' | 'shutdown' | 'unforeseen' | 'tool_calls';

/** Time that a stream has for each token, in addition to its base time: 5 tokens a second. */
export const MS_PER_TOKEN = 200;

/** The router ended a stream. */
export interface CutFault {
  kind: 'stream_cut';
  by: CutReason;
  /** Time since the request. */
  afterMs: number;
  /** Undefined if the engine had sent no count. */
  charged: { completionTokens: number; chargeNanoUsd: bigint } | undefined;
}

/** A call's use of its model's window. */
export interface WindowUse {
  model: string;
  windowTokens: number;
  /** Undefined if each of several texts has the window for itself. */
  prompt: { tokens: number; isCounted: boolean; outputTokens: number } | undefined;
  /** Whether the output was shortened to fit, so that the prompt alone is too long. */
  isOutputFitted: boolean;
}

/** Why an engine gave no answer, or a bad one. */
export type EngineFault =
  | { kind: 'no_healthy_engine' }
  | { kind: 'engine_busy' }
  /** The engines are full, and the call did not or will not get its turn in time. */
  | { kind: 'overloaded'; retryAfterSeconds: number }
  /** An engine took the call and failed it: a client must not repeat it blindly. */
  | { kind: 'engine_failed' }
  /** The prompt does not fit the window. The engine's message has the numbers. */
  | { kind: 'context_too_long'; message: string; window?: WindowUse }
  /** The engine refused the request as the client's mistake. */
  | { kind: 'engine_refused'; message: string; param: string | null }
  | { kind: 'forced_tool_not_called' }
  /** Non-streaming answers in progress use up the memory for all, or this key's part. */
  | { kind: 'no_room_for_answer' }
  /** The bytes of an image passed our check and could not be decoded by the engine. */
  | ImageFault;

/**
 * An image that cannot be fetched or decoded. The fault has no reason, so that all reasons look the same to the client.
 */
export interface ImageFault {
  kind: 'image_unusable';
  /** The field of the images; `messages` unless the API has another. */
  param?: string;
}

/** Why inference is refused to a key that is let in, or fails. */
export type CallFault =
  | BodyFault
  | RequestFault
  | ModelFault
  | AdmissionFault
  | KeyBoundFault
  | EngineFault
  | CutFault
  /** The answer is whole, and neither disk nor Redis took its ending in time. */
  | { kind: 'ending_not_kept' };

export type InferenceFault = GuardFault | CallFault;
