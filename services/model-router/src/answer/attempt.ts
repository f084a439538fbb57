import { dispatchToEngine, type EngineExchange, type EngineListener } from '../engines/dispatchToEngine.ts';
import { servedNameOf } from '../engines/engine.ts';
import type { AttemptFailure } from '../engines/terms/attemptResult.ts';
import type { Attempt } from '../placement/attempt.ts';
import type { Call } from './call.ts';
import type { Outcome } from './outcome.ts';

/** An engine failed the call. */
export interface FailedAttempt extends AttemptFailure {
  kind: 'failed';
  /** For the call's row, where the client has seen some of the answer. */
  reason: string;
  /** The client has seen some of the answer: no other engine may be tried. */
  hasSent: boolean;
}

/** What an attempt on one engine came to. */
export type AttemptEnd =
  | Extract<Outcome, { kind: 'whole' | 'left_in_queue' | 'left_before_event' | 'left_midway' | 'cut' }>
  | FailedAttempt;

/** Exchanges bytes with the engine of an attempt, and tells it what happens there but the end. */
export type AttemptOn = (attempt: Attempt) => Promise<AttemptEnd>;

/** Sends a call to an engine, under the engine's own name of the model and an id that is new for each attempt. */
export function dispatchCall(
  { operation, request, model, callId, bound, cacheSalt }: Call,
  { engine, number, traceparent }: Attempt,
  listener: EngineListener,
): EngineExchange {
  const servedName = servedNameOf(engine, model) ?? model.id;
  return dispatchToEngine(
    engine,
    {
      path: engine.dialect.pathOf(operation),
      body: engine.dialect.toBody(request, { model, servedName, maxOutputTokens: bound.outputTokens, cacheSalt }),
      requestId: number === 1 ? callId : `${callId}-${number}`,
      traceparent,
    },
    listener,
  );
}
