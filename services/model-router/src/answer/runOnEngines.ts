import type { Response } from 'express';
import type { EngineFault, KeyBoundFault } from '../api/chatFault.ts';
import { type Engine, servedNameOf, type UnheardCall } from '../fleet/engine.ts';
import { hashPrefix } from '../fleet/placement/hashPrefix.ts';
import type { Placement } from '../fleet/placement/placer.ts';
import { renderPrefix } from '../fleet/placement/renderPrefix.ts';
import type { RoomedCall } from '../fleet/queue/engineQueue.ts';
import { isWorthRetrying } from '../fleet/vllm/toEngineFault.ts';
import type { InferenceRequest } from '../request/inferenceRequest.ts';
import type { AttemptEnd, AttemptOn, FailedAttempt } from './attempt.ts';
import type { Call, House } from './call.ts';
import { NextAttempt } from './nextAttempt.ts';
import { observeAttempt } from './observeAttempt.ts';
import type { Outcome } from './outcome.ts';

/**
 * Tries a call, once it has its turn, on the engine it is placed on and, as long as the client has seen nothing, once more on
 * another. A call that has heard nothing leaves an engine that turns out not to answer, and while no other may have it, waits
 * there for its own deadline. Once an engine took the call and failed it, that stays the fault, though another one was only
 * busy: clients must not repeat it.
 */
export async function runOnEngines(
  house: House,
  call: Call,
  { attemptOn, res }: { attemptOn: AttemptOn; res: Pick<Response, 'destroyed' | 'once' | 'off'> },
): Promise<Outcome> {
  const { engines, engineQueue, metrics } = house;
  const { request, model, keyId, span } = call;
  const placement = toPlacement(call);
  const next = new NextAttempt(engines.retries);
  const findAble = () =>
    engines.findEngines(model).filter((engine) => engine.isHealthy && servedNameOf(engine, model) !== undefined);
  const findEngines = () => next.chooseFrom(findAble());
  let target: string | undefined;
  let fault: EngineFault | KeyBoundFault = { kind: 'no_healthy_engine' };

  async function tryOn(placed: RoomedCall<Engine>, number: number): Promise<AttemptEnd> {
    const { engine } = placed;
    const observed = observeAttempt(house, call, placed);
    const leaving = new AbortController();
    const unheard: UnheardCall = {
      isStream: request.isStream,
      leave() {
        if (next.mayLeave(engine, findAble())) leaving.abort();
      },
    };
    engine.unheardCalls.add(unheard);
    let end: AttemptEnd | undefined;
    try {
      end = await attemptOn(engine, {
        number,
        traceparent: observed.traceparent,
        leaving: leaving.signal,
        onFirstEvent() {
          engine.unheardCalls.delete(unheard);
          placed.onFirstEvent();
          observed.firstEvent();
          engines.report(engine, { kind: 'first_event' });
        },
        onUnread: placed.onUnread,
        onRead: placed.onRead,
      });
      if (end.kind === 'whole') engines.report(engine, { kind: 'completed', caller: call.workspaceId });
      if (end.kind === 'failed') reportFailure(house, call, engine, end);
      return end;
    } finally {
      engine.unheardCalls.delete(unheard);
      placed.end(end?.kind === 'whole' ? end.usage : undefined);
      observed.end(end);
    }
  }

  const queuedAt = performance.now();
  for (let number = 1; ; number += 1) {
    const turn =
      number === 1
        ? await engineQueue.place({ placement, keyId, bytes: bytesOf(request), res }, findEngines)
        : engineQueue.placeAgain({ placement, keyId }, findEngines());
    if (number === 1) span.setAttributes({ 'turnpike.queue_wait_ms': Math.round(performance.now() - queuedAt) });
    if (turn.kind === 'client_left') return { kind: 'left_in_queue' };
    if (turn.kind === 'refused') return { kind: 'refused', fault: number === 1 ? turn.fault : fault, target };
    const { engine } = turn.placed;
    if (number > 1) metrics.callRetried(model);
    target = engine.target;
    span.setAttributes({ 'turnpike.attempts': number });
    const end = await tryOn(turn.placed, number).catch((error: unknown): Outcome => ({ kind: 'unforeseen', error }));
    if (end.kind !== 'failed') return { ...end, target };
    if (end.hasSent) return { kind: 'broken_off', fault: end.fault, reason: end.reason, target };
    if (fault.kind !== 'engine_failed' || !isWorthRetrying(end.fault)) fault = end.fault;
    if (end.isFinal || !isWorthRetrying(end.fault) || !next.mayFollow(engine, end.broken))
      return { kind: 'refused', fault, target };
  }
}

/** What placement needs to know of a call. Calls of one model and one salt can share what engines have cached. */
function toPlacement({ request, model, cacheSalt, bound }: Call): Placement {
  const { beginning, bytes } = renderPrefix(request);
  return {
    modelId: model.id,
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

/** Tells the fleet of an engine that failed a call, where it may be the engine's doing; a client's mistake never is. */
function reportFailure(
  { engines, engineQueue }: House,
  { workspaceId: caller }: Call,
  engine: Engine,
  { fault, broken, isFinal }: FailedAttempt,
): void {
  // The fleet knows: it is why the call left.
  if (broken === 'left_out') return;
  if (broken === 'refused') engines.report(engine, { kind: 'refused' });
  else if (broken === 'timeout') engines.report(engine, { kind: 'silent' });
  else if (fault.kind === 'engine_busy') {
    engines.report(engine, { kind: 'busy' });
    engineQueue.sayBusy(engine);
  } else if (broken !== undefined || (fault.kind === 'engine_failed' && !isFinal))
    engines.report(engine, { kind: 'failed', caller });
}
