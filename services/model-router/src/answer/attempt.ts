import type { EngineFault } from '../api/chatFault.ts';
import type { EngineErrorKind } from '../fleet/dispatchToEngine.ts';
import type { Engine } from '../fleet/engine.ts';
import type { Outcome } from './outcome.ts';

/** An engine failed the call. */
export interface FailedAttempt {
  kind: 'failed';
  fault: EngineFault;
  /** For the call's row, where the client has seen some of the answer. */
  reason: string;
  /** What the exchange broke off with, where the engine did not answer: it may be unwell. */
  broken: EngineErrorKind | undefined;
  /** No other engine could do better: the call itself is over. */
  isFinal: boolean;
  /** The client has seen some of the answer: no other engine may be tried. */
  hasSent: boolean;
}

/** What an attempt on one engine came to. */
export type AttemptEnd =
  | Extract<Outcome, { kind: 'whole' | 'left_before_event' | 'left_midway' | 'lease_lost' }>
  | FailedAttempt;

export interface AttemptOptions {
  /** From 1 on: a call may have a retry, engines that refuse it, and a connection that was just closing. */
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
  leaving: AbortSignal;
}

/** Tries an engine. */
export type AttemptOn = (engine: Engine, options: AttemptOptions) => Promise<AttemptEnd>;
