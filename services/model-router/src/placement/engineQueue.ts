import { ApiError } from '@turnpike/public-api/apiError';
import type { KeyBoundFault } from '@turnpike/request-reading/faults/keyBoundFault';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { EngineFault } from '../api/inferenceFault.ts';
import type { EngineRoom } from '../engines/engineRoom.ts';
import { findKeyBound } from '../engines/engineRoom.ts';
import type { Attempt } from '../engines/terms/attempt.ts';
import { CallQueue, type QueueLimits, type ShedReason, type WaitingCall } from './callQueue.ts';
import { FULL_MS, QUEUE_LOOK_MS } from './limits.ts';
import type { PlaceableEngine, Placement, Placer } from './placer.ts';
import type { UnreadStream } from './unreadStreams.ts';

/** An answer whose client may leave before it has it. */
export interface Leavable {
  readonly destroyed: boolean;
  once(event: 'close', onClose: () => void): unknown;
  off(event: 'close', onClose: () => void): unknown;
}

/** A call that wants an engine. */
export interface QueueableCall {
  placement: Placement;
  /** Memory it holds. */
  bytes: number;
  res: Leavable;
  /** When it first asked, where its engine has refused it since as it is full; undefined for one that comes new. */
  sinceMs?: number | undefined;
}

/** An engine as the queue knows it. */
export interface QueueableEngine extends PlaceableEngine {
  readonly room: EngineRoom;
}

/** What came of a call's wish for an engine; an attempt counts in its engine's load until it ends. */
export type Turn<Engine> =
  | { kind: 'placed'; attempt: Attempt<Engine> }
  | { kind: 'refused'; fault: EngineFault | KeyBoundFault }
  | { kind: 'client_left' };

/** Which engines a call may have. */
export interface EngineChoice<Engine> {
  /** Asked whenever the call might be placed; a call that finds none does not wait. */
  findEngines(): readonly Engine[];
  /** Its attempt is counted. Who subscribes here hears of its end before the next call has its turn. */
  onPlaced?(attempt: Attempt<Engine>): void;
}

const NO_ENGINE = { kind: 'refused', fault: { kind: 'no_healthy_engine' } } as const;

/** Puts calls on engines that have room for them, in turn. */
export interface EngineQueue {
  /**
   * Throws `overloaded`, or `key_bound_reached` where only its key's own calls are in its way, where a call of this key would
   * be turned away now: known before anything is held for it.
   */
  checkRoom(call: { modelId: string; keyId: string; bytes: number }): void;
  /** Places a call as soon as its key may have more room, one of the engines has some, and it is its turn. */
  place<Engine extends QueueableEngine>(call: QueueableCall, choice: EngineChoice<Engine>): Promise<Turn<Engine>>;
  /** Places a call that its engine failed: it does not wait again, but goes where room is if it can. */
  placeAgain<Engine extends QueueableEngine>(placement: Placement, choice: EngineChoice<Engine>): Turn<Engine>;
  /** Calls that wait, by model. */
  lengths(): Iterable<{ model: string; calls: number }>;
}

export interface EngineQueueOptions {
  placer: Placer;
  limits: QueueLimits & {
    /** Part of the room on a model's engines that one key alone may have, 0 to 1. */
    engineKeyShare: number;
  };
  metrics: Pick<InferenceMetrics, 'queued' | 'shed' | 'keyBoundHit'>;
  nowMs?: () => number;
}

/** Makes the queue of a router: one line for each model, and one measure of each engine's room, whatever models it serves. */
export function createEngineQueue({
  placer,
  limits,
  metrics,
  nowMs = () => performance.now(),
}: EngineQueueOptions): EngineQueue {
  const queues = new Map<string, CallQueue>();
  let looking: NodeJS.Timeout | undefined;

  /** There are never more than models in the catalog. */
  function getQueue(modelId: string): CallQueue {
    const queue = queues.get(modelId) ?? new CallQueue(limits, nowMs);
    queues.set(modelId, queue);
    return queue;
  }

  function startNext(): void {
    for (const queue of queues.values()) queue.startNext();
  }

  /** As long as anybody waits. */
  function lookAgain(): void {
    looking ??= setInterval(() => {
      for (const queue of queues.values()) queue.askAgain();
      startNext();
      let waiting = 0;
      for (const queue of queues.values()) {
        cutUnread(queue);
        queue.expire();
        waiting += queue.length;
      }
      if (waiting > 0) return;
      clearInterval(looking);
      looking = undefined;
    }, QUEUE_LOOK_MS);
    looking.unref();
  }

  /** One at a time: its room comes free, and only then is it known who still waits. */
  function cutUnread(queue: CallQueue): void {
    const found = queue.unread.find((keyId) => queue.othersWaitMs(keyId) >= FULL_MS, nowMs());
    if (!found) return;
    queue.unread.remove(found);
    metrics.keyBoundHit('streams', found.keyId);
    found.cut();
  }

  function placeOn<Engine extends QueueableEngine>(
    engines: readonly Engine[],
    { placement, onPlaced }: { placement: Placement; onPlaced: EngineChoice<Engine>['onPlaced'] },
  ): Attempt<Engine> | undefined {
    const attempt = placer.place(engines, placement);
    if (!attempt) return undefined;
    onPlaced?.(attempt);
    const { keyId } = placement;
    const queue = getQueue(placement.modelId);
    let standing: UnreadStream | undefined;
    const read = (): void => {
      if (standing) queue.unread.remove(standing);
      standing = undefined;
    };
    attempt.subscribe({
      firstEvent: startNext,
      end() {
        read();
        queue.askAgain(keyId);
        startNext();
      },
      unread(cut) {
        if (standing) return;
        standing = { keyId, cut };
        queue.unread.add(standing, nowMs());
      },
      read,
    });
    return attempt;
  }

  const withRoom = <Engine extends QueueableEngine>(engines: readonly Engine[], tokens: number): Engine[] =>
    engines.filter(({ room }) => room.hasRoomFor(tokens));

  /** Whether a key may have no more on these engines. */
  function isBound(engines: readonly QueueableEngine[], keyId: string): boolean {
    const bound = findKeyBound(engines, keyId, limits.engineKeyShare);
    if (bound) for (const { room } of engines) room.wantMore(keyId, bound);
    return bound !== undefined;
  }

  /** Tokens of prompt and answer, cached or not: what the call takes of its key's share. */
  function costOf(placement: Placement): number {
    const { promptTokens, outputTokens } = placer.expectTokens(placement);
    return Math.max(1, promptTokens + outputTokens);
  }

  function refused(
    queue: CallQueue,
    { modelId, keyId }: { modelId: string; keyId: string },
    reason: ShedReason,
    retryAfterSeconds: number,
  ): EngineFault | KeyBoundFault {
    if (queue.isPassedOver(keyId)) return { kind: 'key_bound_reached', bound: 'streams', retryAfterSeconds };
    metrics.shed({ id: modelId }, reason);
    return { kind: 'overloaded', retryAfterSeconds };
  }

  return {
    checkRoom(call) {
      const { modelId, keyId, bytes } = call;
      const queue = queues.get(modelId);
      const reason = queue?.findRefusal({ flow: keyId, bytes });
      if (!queue || !reason) return;
      throw new ApiError<EngineFault | KeyBoundFault>(refused(queue, call, reason, queue.retryAfterSeconds(keyId)));
    },
    place(call, choice) {
      const { placement, bytes, res } = call;
      const { modelId, keyId: flow } = placement;
      const cost = costOf(placement);
      if (res.destroyed) return Promise.resolve({ kind: 'client_left' });
      const { onPlaced } = choice;
      const tryPlace = (engines: ReturnType<typeof choice.findEngines>) =>
        placeOn(withRoom(engines, cost), { placement, onPlaced });
      const engines = choice.findEngines();
      if (engines.length === 0) return Promise.resolve(NO_ENGINE);
      const queue = getQueue(modelId);
      // One that had its turn goes ahead of what waits, and may have another engine that has room.
      const mayGoAhead = call.sinceMs !== undefined || !queue.isBehindOthers(flow);
      const attempt = mayGoAhead && !isBound(engines, flow) ? tryPlace(engines) : undefined;
      if (attempt) return Promise.resolve({ kind: 'placed', attempt });
      return new Promise((resolve, reject) => {
        const sinceMs = call.sinceMs ?? nowMs();
        const waiting: WaitingCall = {
          flow,
          cost,
          bytes,
          tryStart() {
            try {
              const able = choice.findEngines();
              if (isBound(able, flow)) return 'held_back';
              const found = tryPlace(able);
              if (!found) return 'no_room';
              metrics.queued({ id: modelId }, (nowMs() - sinceMs) / 1_000);
              resolve({ kind: 'placed', attempt: found });
            } catch (error) {
              // Of no concern to the call whose end gave this one its turn.
              reject(error);
            }
            res.off('close', onClose);
            return 'started';
          },
          turnedAway(reason, retryAfterSeconds) {
            res.off('close', onClose);
            resolve({
              kind: 'refused',
              fault: refused(queue, { modelId, keyId: flow }, reason, retryAfterSeconds),
            });
          },
        };
        const onClose = (): void => {
          queue.leave(waiting);
          resolve({ kind: 'client_left' });
          // The next in line may be smaller than this one was.
          queue.startNext();
        };
        res.once('close', onClose);
        if (call.sinceMs === undefined) queue.join(waiting);
        else queue.waitOn(waiting, call.sinceMs);
        // What keeps it, room or its own key, decides over those who come next.
        if (mayGoAhead) queue.startNext();
        lookAgain();
      });
    },
    placeAgain(placement, { findEngines, onPlaced }) {
      const engines = findEngines();
      const roomy = withRoom(engines, costOf(placement));
      const attempt = placeOn(roomy.length > 0 ? roomy : engines, { placement, onPlaced });
      return attempt ? { kind: 'placed', attempt } : NO_ENGINE;
    },
    *lengths() {
      for (const [model, { length: calls }] of queues) yield { model, calls };
    },
  };
}
