import type { CutReason, EngineFault } from '../../api/inferenceFault.ts';

/**
 * Why an exchange with an engine broke off.
 * - `refused`: nothing listens at the address, so the engine received nothing.
 * - `unreached`: no connection was open in time, so the engine received nothing either. The cause may be this router.
 * - `unanswered`: the connection broke within a second, before any answer. The engine was probably closing it.
 * - `reset`: the connection broke later.
 * - `timeout`: no bytes came in time.
 * - `left_out`: the engine was found not to answer before its first byte, so the call left it.
 */
export type EngineErrorKind = 'refused' | 'unreached' | 'unanswered' | 'reset' | 'timeout' | 'left_out';

/** An engine's count of a whole call. */
export interface CountedCall {
  promptTokens: number;
  cachedPromptTokens: number;
  completionTokens: number;
}

/** How an attempt failed. */
export interface AttemptFailure {
  fault: EngineFault;
  /** The error of the exchange if the engine did not answer, which may mean that it is unhealthy. */
  broken: EngineErrorKind | undefined;
  /** Whether the call is over for another reason than the engine. */
  isFinal: boolean;
}

/** The result of an attempt, as far as it concerns its engine. */
export type AttemptResult =
  /** The engine answered completely. `usage` is its count, if it sent one. */
  | { kind: 'whole'; usage: CountedCall | undefined }
  | ({ kind: 'failed' } & AttemptFailure)
  /** The client left, or the router ended the call. The engine is not to blame. */
  | { kind: 'left_in_queue' | 'left_before_event' | 'left_midway' }
  | { kind: 'cut'; by: CutReason };

/** Returns whether the engine received nothing of the call. Then capacity is missing, and a retry is safe. */
export const isUntaken = (broken: EngineErrorKind | undefined): boolean =>
  broken === 'refused' || broken === 'unreached';

/** Returns whether another engine might succeed. A client's mistake fails everywhere. */
export const isWorthRetrying = ({ kind }: EngineFault): boolean =>
  kind === 'engine_failed' || kind === 'engine_busy' || kind === 'no_healthy_engine';
