import { ApiError } from '@turnpike/api-errors/apiError';
import type { EngineFault, KeyBoundFault } from '../api/chatFault.ts';
import { servedNameOf, type UnheardCall } from '../fleet/engine.ts';
import { isWorthRetrying } from '../fleet/vllm/toEngineFault.ts';
import type { InferenceRequest } from '../request/inferenceRequest.ts';
import type { Attempt, AttemptOn, CallContext } from './callContext.ts';
import { NextAttempt } from './nextAttempt.ts';
import { observeAttempt } from './observeAttempt.ts';
import { reportFailure } from './reportFailure.ts';

/** Memory that a call holds while it waits. */
const bytesOf = ({ body, images }: InferenceRequest): number =>
  images.fetched.values().reduce((sum, { length }) => sum + length, body.bytes.length);

/**
 * Tries a call, once it has its turn, on the engine it is placed on and, as long as the client has seen nothing, once more on
 * another. A client that leaves before its turn has its call ended as a failure: no engine had it. A call that has heard
 * nothing leaves an engine that turns out not to answer, and while no other may have it, waits there for its own deadline.
 * Throws the engine's fault when that came to nothing; the call is recorded as a failure first, and costs nothing. Once an
 * engine took the call and failed it, that stays the fault, though another one was only busy: clients must not repeat it.
 */
export async function runOnEngines(context: CallContext, attemptOn: AttemptOn): Promise<void> {
  const { request, call, model, engines, engineQueue, placement, keyId, res, span, metrics } = context;
  const next = new NextAttempt(engines.retries);
  let fault: EngineFault | KeyBoundFault = { kind: 'no_healthy_engine' };
  const findAble = () =>
    engines.findEngines(model).filter((engine) => engine.isHealthy && servedNameOf(engine, model) !== undefined);
  const queuedAt = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    const findEngines = () => next.chooseFrom(findAble());
    const turn =
      attempt === 1
        ? await engineQueue.place({ placement, keyId, bytes: bytesOf(request), res }, findEngines)
        : engineQueue.placeAgain({ placement, keyId }, findEngines());
    if (attempt === 1) span.setAttributes({ 'turnpike.queue_wait_ms': Math.round(performance.now() - queuedAt) });
    if (turn.kind === 'client_left') {
      await call.end({ status: 'failure', reason: 'client_left_in_queue' });
      return;
    }
    if (turn.kind === 'refused') {
      if (attempt === 1) fault = turn.fault;
      break;
    }
    const { placed } = turn;
    const { engine } = placed;
    if (attempt > 1) metrics.callRetried(model);
    call.target = engine.target;
    span.setAttributes({ 'turnpike.attempts': attempt });
    const observed = observeAttempt(context, placed);
    const leaving = new AbortController();
    const unheard: UnheardCall = {
      isStream: placement.isStream,
      leave() {
        if (next.mayLeave(engine, findAble())) leaving.abort();
      },
    };
    engine.unheardCalls.add(unheard);
    let result: Attempt | undefined;
    try {
      result = await attemptOn(engine, {
        number: attempt,
        traceparent: observed.traceparent,
        signal: leaving.signal,
        onFirstEvent: () => {
          engine.unheardCalls.delete(unheard);
          placed.onFirstEvent();
          observed.firstEvent();
          engines.report(engine, { kind: 'first_event' });
        },
        onUnread: placed.onUnread,
        onRead: placed.onRead,
      });
      if (result.outcome === 'ended') return;
      if (fault.kind !== 'engine_failed' || !isWorthRetrying(result.fault)) fault = result.fault;
      reportFailure(context, engine, result);
      if (result.fault.kind === 'engine_busy') engineQueue.sayBusy(engine);
      if (result.isFinal || !isWorthRetrying(result.fault) || !next.mayFollow(engine, result.broken)) break;
    } finally {
      engine.unheardCalls.delete(unheard);
      placed.end(result?.outcome === 'ended' ? result.counted : undefined);
      observed.end(result);
    }
  }
  await call.end({ status: 'failure', reason: fault.kind });
  throw new ApiError(fault);
}
