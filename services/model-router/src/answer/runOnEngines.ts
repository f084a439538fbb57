import type { KeyBoundFault } from '@turnpike/request-reading/faults/requestFault';
import type { Response } from 'express';
import type { EngineFault } from '../api/inferenceFault.ts';
import { dispatchToEngine, type EngineExchange, type EngineListener } from '../engines/dispatchToEngine.ts';
import { servedNameOf } from '../engines/engine.ts';
import { hashPrefix, renderPrefix } from '../engines/promptPrefix.ts';
import { type AttemptFailure, type AttemptResult, isWorthRetrying } from '../engines/terms/attemptResult.ts';
import type { Attempt } from '../placement/attempt.ts';
import type { Turn } from '../placement/engineQueue.ts';
import { FleetCall, NextAttempt } from '../placement/fleetCall.ts';
import type { Placement } from '../placement/queueableCall.ts';
import type { InferenceRequest } from '../request/inferenceRequest.ts';
import type { AnswerDependencies, Call } from './call.ts';
import type { Outcome } from './outcome.ts';

/**
 * Tries a call, once it has its turn, on the engine it is placed on and, as long as the client has seen nothing, once more on
 * another. A call that its engine refuses as it is full waits on for another turn. One that has heard nothing leaves an engine
 * that turns out not to answer, and while no other may have it, waits there for its own deadline. Once an engine took the call
 * and failed it, that stays the fault, though another one was only full: clients must not repeat it.
 */
export async function runOnEngines(
  dependencies: AnswerDependencies,
  call: Call,
  { attemptOn, res }: { attemptOn: AttemptOn; res: Pick<Response, 'destroyed' | 'once' | 'off'> },
): Promise<Outcome> {
  const { engines, queue, metrics } = dependencies;
  const { operation, request, model, workspaceId, span } = call;
  const next = new NextAttempt(engines.retries);
  const placement = toPlacement(call);
  const placed = new FleetCall({ engines, next, model, workspaceId, placement, bytes: bytesOf(request), res });
  let target: string | undefined;
  let fault: EngineFault | KeyBoundFault = { kind: 'no_healthy_engine' };

  const askedAt = performance.now();
  let waitedMs = 0;
  /** Whether the last engine said that it is full, so that the call waits on. */
  let isFull = false;
  for (let number = 1; ; number += 1) {
    const isFirst = number === 1;
    const beganAt = performance.now();
    const turn: Turn =
      isFirst || isFull ? await queue.place(placed, isFull ? askedAt : undefined) : queue.placeAgain(placed);
    waitedMs += performance.now() - beganAt;
    span.setAttributes({ 'turnpike.queue_wait_ms': Math.round(waitedMs) });
    if (turn.kind === 'client_left') return { kind: 'left_in_queue' };
    if (turn.kind === 'refused')
      return { kind: 'refused', fault: isFirst || fault.kind === 'engine_busy' ? turn.fault : fault, target };
    const { attempt } = turn;
    const { engine } = attempt;
    if (!isFirst) metrics.callRetried(model);
    target = engine.target;
    span.setAttributes({ 'turnpike.attempts': number });
    attempt.begin(number, { span, metrics, model, isGenerating: operation.isGenerating });
    let end: AttemptEnd | undefined;
    try {
      end = await attemptOn(attempt);
    } catch (error) {
      return { kind: 'unforeseen', error, target };
    } finally {
      attempt.end(toResult(end));
    }
    if (end.kind !== 'failed') return { ...end, target };
    if (end.hasSent) return { kind: 'broken_off', fault: end.fault, reason: end.reason, target };
    if (fault.kind !== 'engine_failed' || !isWorthRetrying(end.fault)) fault = end.fault;
    isFull = end.fault.kind === 'engine_busy';
    if (end.isFinal || !isWorthRetrying(end.fault) || !(isFull || next.mayFollow(engine, end.broken)))
      return { kind: 'refused', fault, target };
  }
}

/** What placement needs to know of a call. Calls of one model and one salt can share what engines have cached. */
function toPlacement({ request, model, keyId, cacheSalt, bound }: Call): Placement {
  const { beginning, bytes } = renderPrefix(request);
  return {
    modelId: model.id,
    keyId,
    prefixHashes: hashPrefix(`${model.id} ${cacheSalt}`, beginning),
    promptBytes: bytes,
    estimatedPromptTokens: bound.estimatedPromptTokens,
    maxOutputTokens: bound.outputTokens,
    isStream: request.isStream,
  };
}

/** Memory that a call holds while it waits. */
const bytesOf = ({ body, images }: InferenceRequest): number =>
  images.fetched.values().reduce((sum, { length }) => sum + length, body.bytes.length);

/** What an attempt says of its engine. Undefined where a mistake of ours ended it. */
function toResult(end: AttemptEnd | undefined): AttemptResult {
  if (end?.kind === 'whole') return { kind: 'answered', counted: end.usage };
  if (end?.kind === 'failed') return end;
  return { kind: 'dropped', isError: end === undefined || (end.kind === 'cut' && end.by === 'unforeseen') };
}

/** An engine failed the call. */
interface FailedAttempt extends AttemptFailure {
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
