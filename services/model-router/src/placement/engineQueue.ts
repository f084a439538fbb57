import { ApiError } from '@turnpike/public-api/apiError';
import type { KeyBoundFault } from '@turnpike/request-reading/faults/requestFault';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { EngineFault } from '../api/inferenceFault.ts';
import type { Engine } from '../engines/engine.ts';
import { findKeyBound } from '../engines/engineRoom.ts';
import { CallQueue, type QueueLimits, type ShedReason, type Start, type WaitingCall } from './callQueue.ts';
import { FULL_MS, QUEUE_LOOK_MS } from './limits.ts';
import type { Attempt, Placement, Placer, QueueableCall } from './placer.ts';

/** The answer to a call that needs an engine; an attempt counts in its engine's load until it ends. */
export type Turn =
  | { kind: 'placed'; attempt: Attempt }
  | { kind: 'refused'; fault: EngineFault | KeyBoundFault }
  | { kind: 'client_left' };

const NO_ENGINE: Turn = { kind: 'refused', fault: { kind: 'no_healthy_engine' } };

export interface EngineQueueOptions {
  placer: Placer;
  limits: QueueLimits & {
    /** Part of the room on a model's engines that one key alone may have, 0 to 1. */
    engineKeyShare: number;
  };
  metrics: Pick<InferenceMetrics, 'queued' | 'shed' | 'keyBoundHit'>;
  nowMs?: () => number;
}

/**
 * Puts calls on engines that have room for them, in turn. Each model has a line of its own. An engine has one measure of its room,
 * whatever models it serves.
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
   * Throws `overloaded`, or `key_bound_reached` where only its key's own calls are in its way, where a call of this key would
   * be turned away now: known before anything is held for it.
   */
  checkRoom({ modelId, keyId, bytes }: { modelId: string; keyId: string; bytes: number }): void {
    const line = this.#lines.get(modelId);
    const reason = line?.findRefusal({ flow: keyId, bytes });
    if (!line || !reason) return;
    throw new ApiError(this.refuse({ modelId, keyId }, reason, line.retryAfterSeconds(keyId)));
  }

  /**
   * Places a call as soon as its key may have more room, one of the engines has some, and it is its turn. A call that its engine
   * refused as full comes again with the time of its first question, on the queue's clock: it goes ahead, and waits no longer
   * than that allows.
   */
  place(call: QueueableCall, sinceMs?: number): Promise<Turn> {
    const { modelId, keyId } = call.placement;
    const cost = this.#placer.costOf(call.placement);
    if (call.res.destroyed) return Promise.resolve({ kind: 'client_left' });
    const engines = call.findEngines();
    if (engines.length === 0) return Promise.resolve(NO_ENGINE);
    const line = this.#lineOf(modelId);
    // One that had its turn goes ahead of what waits, and may have another engine that has room.
    const mayGoAhead = sinceMs !== undefined || !line.isBehindOthers(keyId);
    const attempt = mayGoAhead ? this.tryStart(call, cost, engines) : 'no_room';
    if (typeof attempt === 'object') return Promise.resolve({ kind: 'placed', attempt });
    const waiting = new WaitingTurn(this, line, { call, cost, sinceMs: sinceMs ?? this.#nowMs() });
    if (sinceMs === undefined) line.join(waiting);
    else line.waitOn(waiting, sinceMs);
    // What keeps it, room or its own key, decides over those who come next.
    if (mayGoAhead) line.startNext();
    this.#lookAgain();
    return waiting.turn;
  }

  /** Places a call that its engine failed: it does not wait again, but goes where room is if it can. */
  placeAgain(call: QueueableCall): Turn {
    const engines = call.findEngines();
    const roomy = withRoom(engines, this.#placer.costOf(call.placement));
    const attempt = this.#placeOn(roomy.length > 0 ? roomy : engines, call);
    return attempt ? { kind: 'placed', attempt } : NO_ENGINE;
  }

  /** The attempt of a call whose turn it is, or the reason why it has none. */
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

  /** Counts a call that waited and has its turn. */
  started({ modelId }: Placement, sinceMs: number): void {
    this.#metrics.queued({ id: modelId }, (this.#nowMs() - sinceMs) / 1_000);
  }

  /** The fault of a call that is turned away. */
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

  /** Gives turns: an engine may have more room. */
  startNext(): void {
    for (const line of this.#lines.values()) line.startNext();
  }

  /** An attempt has ended, and its room is free. */
  ended(attempt: Attempt): void {
    const line = this.#lineOf(attempt.placement.modelId);
    line.askAgain(attempt.keyId);
    this.startNext();
  }

  /** The client of an attempt does not read. */
  unread(attempt: Attempt): void {
    this.#lineOf(attempt.placement.modelId).unread.add(attempt, this.#nowMs());
  }

  /** The client of an attempt reads on. */
  read(attempt: Attempt): void {
    this.#lineOf(attempt.placement.modelId).unread.remove(attempt);
  }

  /** Calls that wait, by model. */
  *lengths(): Iterable<{ model: string; calls: number }> {
    for (const [model, { length: calls }] of this.#lines) yield { model, calls };
  }

  /** There are never more than models in the catalog. */
  #lineOf(modelId: string): CallQueue {
    const line = this.#lines.get(modelId) ?? new CallQueue(this.#limits, this.#nowMs);
    this.#lines.set(modelId, line);
    return line;
  }

  /** As long as a call waits. */
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

  /** One at a time: its room comes free, and only then is it known who still waits. */
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
   * Returns the engines with room that a call may go to. A key that crowds three quarters of the engines, one at least, may not crowd
   * the others too.
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
      // Of no concern to the call whose end gave this one its turn.
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
    // The next in line may be smaller than this one was.
    this.#line.startNext();
  };
}
