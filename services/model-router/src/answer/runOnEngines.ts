import { noteCall } from '@turnpike/http-service/observeRequests';
import type { KeyBoundFault } from '@turnpike/request-reading/faults/requestFault';
import type { Response } from 'express';
import type { EngineFault } from '../api/inferenceFault.ts';
import type { PricedModel } from '../catalog/catalog.ts';
import { dispatchToEngine, type EngineExchange, type EngineListener } from '../engines/dispatchToEngine.ts';
import { type Engine, servedNameOf } from '../engines/engine.ts';
import type { CallNews, EngineRegistry } from '../engines/engineRegistry.ts';
import { hashPrefix, renderPrefix } from '../engines/promptPrefix.ts';
import {
  type AttemptFailure,
  type AttemptResult,
  type EngineErrorKind,
  isUntaken,
  isWorthRetrying,
} from '../engines/terms/attemptResult.ts';
import type { RetryBudget } from '../health/retryBudget.ts';
import type { Attempt } from '../placement/attempt.ts';
import type { Turn } from '../placement/engineQueue.ts';
import type { Leavable, Placement, QueueableCall } from '../placement/queueableCall.ts';
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
  // Memory that the call holds while it waits.
  let bytes = request.body.bytes.length;
  for (const { length } of request.images.fetched.values()) bytes += length;
  const placed = new FleetCall({ engines, next, model, workspaceId, placement, bytes, res });
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
    noteCall(res, { engine: engine.id });
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

/** Refused connections cost nothing, but a call is not sent around for ever. */
const MAX_REFUSALS = 4;

/**
 * Decides whether a call is tried again, and where. One retry, on another engine and out of the fleet's budget. Two things are
 * free: an engine that refused the connection took nothing; and once, a connection that broke before any answer was most
 * likely closing already, so the call goes even to the same engine where there is no other.
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
    retries.callBegan();
  }

  /** The engines that may have the next attempt. */
  chooseFrom(able: readonly Engine[]): readonly Engine[] {
    const untried = able.filter((engine) => !this.#tried.has(engine));
    return untried.length > 0 ? untried : able.filter((engine) => engine === this.#resendTo);
  }

  /** Whether the call may leave `engine`, which does not answer, for another of those that are able; its retry is then paid for. */
  mayLeave(engine: Engine, able: readonly Engine[]): boolean {
    return able.some((other) => other !== engine && !this.#tried.has(other)) && this.#takeRetry();
  }

  /** Whether another attempt may follow one on `engine` that failed; where it has to be paid for, it is. */
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

interface FleetCallOptions {
  engines: Pick<EngineRegistry, 'findEngines' | 'report'>;
  next: NextAttempt;
  model: PricedModel;
  /** Who pays for it: what one workspace's calls do is no proof against an engine. */
  workspaceId: string;
  placement: Placement;
  bytes: number;
  res: Leavable;
}

/** A call as it goes from engine to engine of the region. */
class FleetCall implements QueueableCall {
  readonly placement: Placement;
  readonly bytes: number;
  readonly res: Leavable;
  readonly #engines: FleetCallOptions['engines'];
  readonly #next: NextAttempt;
  readonly #model: PricedModel;
  readonly #workspaceId: string;

  constructor({ engines, next, model, workspaceId, placement, bytes, res }: FleetCallOptions) {
    this.placement = placement;
    this.bytes = bytes;
    this.res = res;
    this.#engines = engines;
    this.#next = next;
    this.#model = model;
    this.#workspaceId = workspaceId;
  }

  findEngines(): readonly Engine[] {
    return this.#next.chooseFrom(this.#findAble());
  }

  mayLeave(engine: Engine): boolean {
    return this.#next.mayLeave(engine, this.#findAble());
  }

  report(engine: Engine, result: AttemptResult): void {
    const news = toNews(result, this.#workspaceId);
    if (news) this.#engines.report(engine, news);
  }

  #findAble(): readonly Engine[] {
    return this.#engines
      .findEngines(this.#model)
      .filter((engine) => engine.isHealthy && servedNameOf(engine, this.#model) !== undefined);
  }
}

/** Judges an engine by the result of an attempt. Returns undefined where the engine may have no part in it, as in a client's mistake. */
function toNews(result: AttemptResult, workspaceId: string): CallNews | undefined {
  if (result.kind === 'dropped') return undefined;
  if (result.kind === 'answered') return { kind: 'completed', workspaceId };
  const { fault, broken, isFinal } = result;
  switch (broken) {
    // Health knows: it is why the call left.
    case 'left_out':
      return undefined;
    case 'refused':
      return { kind: 'refused' };
    case 'unreached':
      return { kind: 'unreached' };
    case 'timeout':
      return { kind: 'silent' };
    case undefined:
      return fault.kind === 'engine_failed' && !isFinal ? { kind: 'failed', workspaceId } : undefined;
    default:
      return { kind: 'failed', workspaceId };
  }
}
