import { noteCall } from '@turnpike/http-service/observeRequests';
import type { KeyBoundFault } from '@turnpike/request-reading/faults/requestFault';
import type { Response } from 'express';
import type { EngineFault } from '../api/inferenceFault.ts';
import { type Engine, servedNameOf } from '../engines/engine.ts';
import { EngineExchange, type EngineListener } from '../engines/engineExchange.ts';
import { hashPrefix, renderPrefix } from '../engines/promptPrefix.ts';
import {
  type AttemptFailure,
  type AttemptResult,
  type EngineErrorKind,
  isUntaken,
  isWorthRetrying,
} from '../engines/terms/attemptResult.ts';
import type { RetryBudget } from '../health/engineHealth.ts';
import type { Turn } from '../placement/engineQueue.ts';
import type { Attempt, Leavable, Placement, QueueableCall } from '../placement/placer.ts';
import type { AnswerDependencies, Call, Outcome } from './call.ts';

/**
 * Waits for the call's turn and runs the call on the engine that it is placed on. A failed call is retried once on another engine, as
 * long as the client has got nothing. If the engine refuses because it is full, the call waits for another turn. A call without a first
 * event leaves a silent engine for another one. If there is no other engine, it waits for its own deadline.
 * After an engine failed the call, that stays the fault even if the next engine is only full: clients must not repeat the call.
 */
export async function runOnEngines(
  dependencies: AnswerDependencies,
  call: Call,
  { attemptOn, res }: { attemptOn: AttemptOn; res: Pick<Response, 'destroyed' | 'once' | 'off'> },
): Promise<Outcome> {
  const { engines, queue, metrics } = dependencies;
  const { operation, model, span } = call;
  engines.retries.callBegan();
  const placed = new FleetCall(engines, call, res);
  let target: string | undefined;
  let fault: EngineFault | KeyBoundFault = { kind: 'no_healthy_engine' };

  const askedAt = performance.now();
  let waitedMs = 0;
  /** Whether the last engine was full, so that the call waits for another turn. */
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
    noteCall(res, { engine: engine.id });
    span.setAttributes({ 'turnpike.attempts': number });
    attempt.begin(number, { span, metrics, model, isGenerating: operation.isGenerating });
    let end: AttemptEnd | undefined;
    try {
      end = await attemptOn(attempt);
    } catch (error) {
      return { kind: 'unforeseen', error, target };
    } finally {
      attempt.end(end ?? { kind: 'cut', by: 'unforeseen' });
    }
    if (end.kind !== 'failed') return { ...end, target };
    if (end.hasSent) return { kind: 'broken_off', fault: end.fault, reason: end.reason, target };
    if (fault.kind !== 'engine_failed' || !isWorthRetrying(end.fault)) fault = end.fault;
    isFull = end.fault.kind === 'engine_busy';
    if (end.isFinal || !isWorthRetrying(end.fault) || !(isFull || placed.next.mayFollow(engine, end.broken)))
      return { kind: 'refused', fault, target };
  }
}

/** An attempt that the engine failed. */
interface FailedAttempt extends AttemptFailure {
  kind: 'failed';
  /** Reason in the call's row, if the client got a part of the answer. */
  reason: string;
  /** Whether the client got a part of the answer, so that no other engine may be tried. */
  hasSent: boolean;
}

/** The outcome of an attempt on one engine. */
export type AttemptEnd =
  | Extract<Outcome, { kind: 'whole' | 'left_in_queue' | 'left_before_event' | 'left_midway' | 'cut' }>
  | FailedAttempt;

/** Runs an attempt on its engine, and reports to the attempt all that happens there but the end. */
export type AttemptOn = (attempt: Attempt) => Promise<AttemptEnd>;

/** Sends a call to an engine, under the engine's own name of the model and an id that is new for each attempt. */
export function dispatchCall(
  { operation, request, model, callId, bound, cacheSalt }: Call,
  { engine, number, traceparent }: Attempt,
  listener: EngineListener,
): EngineExchange {
  const servedName = servedNameOf(engine, model) ?? model.id;
  const exchange = new EngineExchange(engine, listener);
  void exchange.send({
    path: operation.path,
    body: engine.dialect.toBody(request, { model, servedName, maxOutputTokens: bound.outputTokens, cacheSalt }),
    requestId: number === 1 ? callId : `${callId}-${number}`,
    traceparent,
  });
  return exchange;
}

/** Bounds the free retries after refused connections. */
const MAX_REFUSALS = 4;

/**
 * Decides whether a call is retried, and where. It gets one retry on another engine, from the fleet's budget. Two failures are
 * free. An engine that refused the connection took nothing. A connection that broke before any answer was most likely closing
 * already. The call may then go to the same engine once, if there is no other.
 */
export class NextAttempt {
  readonly #retries: RetryBudget;
  readonly #tried = new Set<Engine>();
  #resendTo: Engine | undefined;
  #refusals = 0;
  #hasResent = false;
  #hasRetried = false;

  constructor(retries: RetryBudget) {
    this.#retries = retries;
  }

  /** Returns the engines that may get the next attempt. */
  chooseFrom(able: readonly Engine[]): readonly Engine[] {
    const untried = able.filter((engine) => !this.#tried.has(engine));
    return untried.length > 0 ? untried : able.filter((engine) => engine === this.#resendTo);
  }

  /** Returns whether the call may leave a silent engine for another able one. Takes a retry from the budget if so. */
  mayLeave(engine: Engine, able: readonly Engine[]): boolean {
    return able.some((other) => other !== engine && !this.#tried.has(other)) && this.#takeRetry();
  }

  /** Returns whether another attempt may follow a failed one on `engine`. Takes a retry from the budget if it is not free. */
  mayFollow(engine: Engine, broken: EngineErrorKind | undefined): boolean {
    this.#tried.add(engine);
    this.#resendTo = undefined;
    if (broken === 'left_out') return true;
    if (isUntaken(broken)) {
      this.#refusals += 1;
      return this.#refusals < MAX_REFUSALS;
    }
    if (broken === 'unanswered' && !this.#hasResent) {
      this.#hasResent = true;
      this.#resendTo = engine;
      return true;
    }
    return this.#takeRetry();
  }

  #takeRetry(): boolean {
    if (this.#hasRetried || !this.#retries.take()) return false;
    this.#hasRetried = true;
    return true;
  }
}

/** A call on its way from engine to engine of the region. */
class FleetCall implements QueueableCall {
  readonly placement: Placement;
  readonly bytes: number;
  readonly res: Leavable;
  readonly #engines: AnswerDependencies['engines'];
  readonly #call: Call;
  #next: NextAttempt | undefined;

  constructor(engines: AnswerDependencies['engines'], call: Call, res: Leavable) {
    this.res = res;
    this.#engines = engines;
    this.#call = call;
    const { request, model, keyId, cacheSalt, bound } = call;
    const { beginning, bytes } = renderPrefix(request);
    this.placement = {
      modelId: model.id,
      keyId,
      // Calls share cached prompts only within one model and one salt.
      prefixHashes: hashPrefix(`${model.id} ${cacheSalt}`, beginning),
      promptBytes: bytes,
      estimatedPromptTokens: bound.estimatedPromptTokens,
      maxOutputTokens: bound.outputTokens,
      isStream: request.isStream,
    };
    let held = request.body.bytes.length;
    for (const { length } of request.images.fetched.values()) held += length;
    this.bytes = held;
  }

  /** Created when an engine fails the call or is silent, because most calls need one engine. */
  get next(): NextAttempt {
    this.#next ??= new NextAttempt(this.#engines.retries);
    return this.#next;
  }

  findEngines(): readonly Engine[] {
    const able = this.#findAble();
    return this.#next ? this.#next.chooseFrom(able) : able;
  }

  mayLeave(engine: Engine): boolean {
    return this.next.mayLeave(engine, this.#findAble());
  }

  /** Reports the result of an attempt to the engine's health. Skips results that say nothing of the engine, like a client's mistake. */
  report(engine: Engine, result: AttemptResult): void {
    // Failures of one workspace alone do not eject an engine.
    const { workspaceId } = this.#call;
    if (result.kind === 'whole') this.#engines.report(engine, { kind: 'completed', workspaceId });
    if (result.kind !== 'failed') return;
    switch (result.broken) {
      // Health reported this engine: that is why the call left.
      case 'left_out':
        return;
      case 'refused':
        this.#engines.report(engine, { kind: 'refused' });
        return;
      case 'unreached':
        this.#engines.report(engine, { kind: 'unreached' });
        return;
      case 'timeout':
        this.#engines.report(engine, { kind: 'silent' });
        return;
      case undefined:
        if (result.fault.kind !== 'engine_failed' || result.isFinal) return;
        this.#engines.report(engine, { kind: 'failed', workspaceId });
        return;
      default:
        this.#engines.report(engine, { kind: 'failed', workspaceId });
    }
  }

  #findAble(): readonly Engine[] {
    const { model } = this.#call;
    const able: Engine[] = [];
    for (const engine of this.#engines.findEngines(model))
      if (engine.isHealthy && servedNameOf(engine, model) !== undefined) able.push(engine);
    return able;
  }
}
