import type { CutReason, EngineFault } from '../../api/inferenceFault.ts';

/**
 * Why an exchange with an engine broke off.
 * - `refused`: nobody listens there, so the engine took nothing.
 * - `unreached`: no connection stood in time, so the engine took nothing either. That may be this router's own trouble.
 * - `unanswered`: the connection broke within a second and before any answer, as one does that the engine was just closing.
 * - `reset`: it broke later.
 * - `timeout`: nothing came in time.
 * - `left_out`: nothing had come yet when the engine was found not to answer, so the call left it.
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
  /** The error of the exchange, if the engine did not answer: it may be unwell. */
  broken: EngineErrorKind | undefined;
  /** The call is over for a reason of its own. */
  isFinal: boolean;
}

/** The result of an attempt, as far as it concerns its engine. */
export type AttemptResult =
  /** The engine answered to the end; `usage` is its own count, where it gave one. */
  | { kind: 'whole'; usage: CountedCall | undefined }
  | ({ kind: 'failed' } & AttemptFailure)
  /** The client left, or the router ended it. It says nothing of the engine. */
  | { kind: 'left_in_queue' | 'left_before_event' | 'left_midway' }
  | { kind: 'cut'; by: CutReason };

/** Whether the engine took nothing of the call: the fleet lacks capacity then, and a retry is safe. */
export const isUntaken = (broken: EngineErrorKind | undefined): boolean =>
  broken === 'refused' || broken === 'unreached';

/** Whether another engine might do better: a client's mistake stays one everywhere. */
export const isWorthRetrying = ({ kind }: EngineFault): boolean =>
  kind === 'engine_failed' || kind === 'engine_busy' || kind === 'no_healthy_engine';
