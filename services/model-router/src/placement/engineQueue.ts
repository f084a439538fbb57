import { ApiError } from '@turnpike/public-api/apiError';
import type { KeyBoundFault } from '@turnpike/request-reading/faults/requestFault';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { EngineFault } from '../api/inferenceFault.ts';
import type { Engine } from '../engines/engine.ts';
import { findKeyBound } from '../engines/engineRoom.ts';
import { CallQueue, type QueueLimits, type ShedReason, type Start, type WaitingCall } from './callQueue.ts';
import { FULL_MS, QUEUE_LOOK_MS } from './limits.ts';
import type { Attempt, Placement, Placer, QueueableCall } from './placer.ts';

/** The result of a call's wait for an engine. An attempt counts in its engine's load until it ends. */
export type Turn =
  | { kind: 'placed'; attempt: Attempt }
  | { kind: 'refused'; fault: EngineFault | KeyBoundFault }
  | { kind: 'client_left' };

const NO_ENGINE: Turn = { kind: 'refused', fault: { kind: 'no_healthy_engine' } };

export interface EngineQueueOptions {
  placer: Placer;
  limits: QueueLimits & {
    /** Part of the room on a model's engines that a single key may have, 0 to 1. */
    engineKeyShare: number;
  };
  metrics: Pick<InferenceMetrics, 'queued' | 'shed' | 'keyBoundHit'>;
  nowMs?: () => number;
}

/**
 * Places calls on engines with room, in fair turns. Each model has a queue of its own. An engine has one room for all
 * its models.
 */
export class EngineQueue {
  readonly #placer: Placer;
  readonly #limits: EngineQueueOptions['limits'];
  readonly #metrics: EngineQueueOptions['metrics'];
  readonly #nowMs: () => number;
  readonly #lines = new Map<string, CallQueue>();
  #looking: NodeJS.Timeout | undefined;

  constructor({ placer, limits, metrics, nowMs = () => performance.now() }: EngineQueueOptions) {
    this.#placer = placer;
    this.#limits = limits;
    this.#metrics = metrics;
    this.#nowMs = nowMs;
  }

  /**
   * Throws `overloaded` if a call of this key would be refused now, so that nothing is held for it. Throws
   * `key_bound_reached` if only the key's own calls are in its way.
   */
  checkRoom({ modelId, keyId, bytes }: { modelId: string; keyId: string; bytes: number }): void {
    const line = this.#lines.get(modelId);
    const reason = line?.findRefusal({ flow: keyId, bytes });
    if (!line || !reason) return;
    throw new ApiError(this.refuse({ modelId, keyId }, reason, line.retryAfterSeconds(keyId)));
  }

  /**
   * Places a call once its key may have more room, an engine has room, and its turn has come. `sinceMs` is the start of
   * the wait, on the queue's clock, for a call that its engine refused as full. Such a call goes ahead of others, and
   * its timeout still counts from then.
   */
  place(call: QueueableCall, sinceMs?: number): Promise<Turn> {
    const { modelId, keyId } = call.placement;
    const cost = this.#placer.costOf(call.placement);
    if (call.res.destroyed) return Promise.resolve({ kind: 'client_left' });
    const engines = call.findEngines();
    if (engines.length === 0) return Promise.resolve(NO_ENGINE);
    const line = this.#lineOf(modelId);
    // A call that had its turn goes ahead of waiting calls and may take another engine with room.
    const mayGoAhead = sinceMs !== undefined || !line.isBehindOthers(keyId);
    const attempt = mayGoAhead ? this.tryStart(call, cost, engines) : 'no_room';
    if (typeof attempt === 'object') return Promise.resolve({ kind: 'placed', attempt });
    const waiting = new WaitingTurn(this, line, { call, cost, sinceMs: sinceMs ?? this.#nowMs() });
    if (sinceMs === undefined) line.join(waiting);
    else line.waitOn(waiting, sinceMs);
    // The reason that stopped this call, room or its own key, also decides about the next calls.
    if (mayGoAhead) line.startNext();
    this.#lookAgain();
    return waiting.turn;
  }

  /** Places a call again after its engine failed. The call does not wait and prefers an engine with room. */
  placeAgain(call: QueueableCall): Turn {
    const engines = call.findEngines();
    const roomy = withRoom(engines, this.#placer.costOf(call.placement));
    const attempt = this.#placeOn(roomy.length > 0 ? roomy : engines, call);
    return attempt ? { kind: 'placed', attempt } : NO_ENGINE;
  }

  /** Returns the attempt of a call whose turn it is, or the reason for having none. */
  tryStart(call: QueueableCall, cost: number, engines = call.findEngines()): Attempt | Exclude<Start, 'started'> {
    const { keyId } = call.placement;
    const bound = findKeyBound(engines, keyId, this.#limits.engineKeyShare);
    if (bound) {
      for (const { room } of engines) room.wantMore(keyId, bound);
      return 'held_back';
    }
    const roomy = withRoom(engines, cost);
    const attempt = this.#placeOn(this.#withoutCrowding(engines, roomy, call.placement), call);
    return attempt ?? (roomy.length > 0 ? 'held_back' : 'no_room');
  }

  /** Records the wait of a call that got its turn. */
  started({ modelId }: Placement, sinceMs: number): void {
    this.#metrics.queued({ id: modelId }, (this.#nowMs() - sinceMs) / 1_000);
  }

  /** Returns the fault of a refused call. */
  refuse(
    { modelId, keyId }: Pick<Placement, 'modelId' | 'keyId'>,
    reason: ShedReason,
    retryAfterSeconds: number,
  ): EngineFault | KeyBoundFault {
    if (this.#lines.get(modelId)?.isPassedOver(keyId))
      return { kind: 'key_bound_reached', bound: 'streams', retryAfterSeconds };
    this.#metrics.shed({ id: modelId }, reason);
    return { kind: 'overloaded', retryAfterSeconds };
  }

  /** Gives turns, because an engine may have more room. */
  startNext(): void {
    for (const line of this.#lines.values()) line.startNext();
  }

  /** Gives the room of an ended attempt to waiting calls. */
  ended(attempt: Attempt): void {
    const line = this.#lineOf(attempt.placement.modelId);
    line.askAgain(attempt.keyId);
    this.startNext();
  }

  /** Notes that the client of an attempt does not read. */
  unread(attempt: Attempt): void {
    this.#lineOf(attempt.placement.modelId).unread.add(attempt, this.#nowMs());
  }

  /** Notes that the client of an attempt reads again. */
  read(attempt: Attempt): void {
    this.#lineOf(attempt.placement.modelId).unread.remove(attempt);
  }

  /** Iterates over the number of waiting calls by model. */
  *lengths(): Iterable<{ model: string; calls: number }> {
    for (const [model, { length: calls }] of this.#lines) yield { model, calls };
  }

  /** Returns the queue of a model. There are at most as many as models in the catalog. */
  #lineOf(modelId: string): CallQueue {
    const line = this.#lines.get(modelId) ?? new CallQueue(this.#limits, this.#nowMs);
    this.#lines.set(modelId, line);
    return line;
  }

  /** Starts a timer that runs while a call waits: it gives turns, cuts unread streams and applies timeouts. */
  #lookAgain(): void {
    this.#looking ??= setInterval(() => {
      for (const line of this.#lines.values()) line.askAgain();
      this.startNext();
      let waiting = 0;
      for (const line of this.#lines.values()) {
        this.#cutUnread(line);
        line.expire();
        waiting += line.length;
      }
      if (waiting > 0) return;
      clearInterval(this.#looking);
      this.#looking = undefined;
    }, QUEUE_LOOK_MS);
    this.#looking.unref();
  }

  /** Cuts one unread stream at a time, because the number of waiting calls is known only after its room is free. */
  #cutUnread(line: CallQueue): void {
    const found = line.unread.find((keyId) => line.othersWaitMs(keyId) >= FULL_MS, this.#nowMs());
    if (!found) return;
    line.unread.remove(found);
    this.#metrics.keyBoundHit('streams', found.keyId);
    found.cutUnread();
  }

  #placeOn(engines: readonly Engine[], call: QueueableCall): Attempt | undefined {
    const attempt = this.#placer.place(engines, call.placement);
    if (attempt) attempt.turn = { queue: this, call };
    return attempt;
  }

  /**
   * Returns the engines with room that a call may use. A key that crowds three quarters of the engines (at least one)
   * must not crowd the others.
   */
  #withoutCrowding(
    engines: readonly Engine[],
    roomy: readonly Engine[],
    { keyId, maxOutputTokens, estimatedPromptTokens }: Placement,
  ): readonly Engine[] {
    const share = this.#limits.engineKeyShare;
    const crowded = new Set<Engine>();
    for (const engine of engines) if (engine.room.isCrowdedBy(keyId, share)) crowded.add(engine);
    if (crowded.size < Math.max(1, Math.floor(share * engines.length))) return roomy;
    const maxTokens = estimatedPromptTokens + maxOutputTokens;
    return roomy.filter((engine) => crowded.has(engine) || !engine.room.isCrowdedBy(keyId, share, maxTokens));
  }
}

function withRoom(engines: readonly Engine[], tokens: number): readonly Engine[] {
  const roomy: Engine[] = [];
  for (const engine of engines) if (engine.room.hasRoomFor(tokens)) roomy.push(engine);
  return roomy;
}

/** A call that waits for its turn. */
class WaitingTurn implements WaitingCall {
  readonly flow: string;
  readonly cost: number;
  readonly bytes: number;
  readonly #queue: EngineQueue;
  readonly #line: CallQueue;
  readonly #call: QueueableCall;
  readonly #sinceMs: number;
  readonly #turn = Promise.withResolvers<Turn>();

  constructor(
    queue: EngineQueue,
    line: CallQueue,
    { call, cost, sinceMs }: { call: QueueableCall; cost: number; sinceMs: number },
  ) {
    this.flow = call.placement.keyId;
    this.cost = cost;
    this.bytes = call.bytes;
    this.#queue = queue;
    this.#line = line;
    this.#call = call;
    this.#sinceMs = sinceMs;
    call.res.once('close', this.#onClose);
  }

  get turn(): Promise<Turn> {
    return this.#turn.promise;
  }

  tryStart(): Start {
    try {
      const attempt = this.#queue.tryStart(this.#call, this.cost);
      if (typeof attempt === 'string') return attempt;
      this.#queue.started(this.#call.placement, this.#sinceMs);
      this.#turn.resolve({ kind: 'placed', attempt });
    } catch (error) {
      // The call whose end gave this turn must not fail with this error.
      this.#turn.reject(error);
    }
    this.#call.res.off('close', this.#onClose);
    return 'started';
  }

  turnedAway(reason: ShedReason, retryAfterSeconds: number): void {
    this.#call.res.off('close', this.#onClose);
    this.#turn.resolve({ kind: 'refused', fault: this.#queue.refuse(this.#call.placement, reason, retryAfterSeconds) });
  }

  readonly #onClose = (): void => {
    this.#line.leave(this);
    this.#turn.resolve({ kind: 'client_left' });
    // The next call may be smaller and fit.
    this.#line.startNext();
  };
}
