import { ApiError } from '@turnpike/api-errors/apiError';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { EngineFault, KeyBoundFault } from '../../api/chatFault.ts';
import type { PlaceableEngine, PlacedCall, Placement, Placer } from '../placement/placer.ts';
import { CallQueue, type QueueLimits, type ShedReason, type WaitingCall } from './callQueue.ts';
import { EngineRoom, type RoomLimits } from './engineRoom.ts';
import { findKeyBound } from './findKeyBound.ts';
import { type UnreadStream, UnreadStreams } from './unreadStreams.ts';

/** How often those that wait are looked at when nothing ends: engines come in, say how full they are, or time runs out. */
const LOOK_MS = 100;
/** Prompts that have to be computed first keep calls waiting for less: room that is full of streams does so for longer. */
const FULL_MS = 1_000;

/** An answer whose client may leave before it has it. */
export interface Leavable {
  readonly destroyed: boolean;
  once(event: 'close', onClose: () => void): unknown;
  off(event: 'close', onClose: () => void): unknown;
}

/** A call that wants an engine. */
export interface QueueableCall {
  placement: Placement;
  keyId: string;
  /** Memory it holds. */
  bytes: number;
  res: Leavable;
}

/** A call on its engine, in whose room it counts until it ends. */
export interface RoomedCall<Engine> extends PlacedCall<Engine> {
  /** Its client does not read it; `cut` ends it as if the client had left, and may be called once others wait for the room. */
  onUnread(cut: () => void): void;
  /** Its client reads on. */
  onRead(): void;
}

/** What came of a call's wish for an engine. */
export type Turn<Engine> =
  | { kind: 'placed'; placed: RoomedCall<Engine> }
  | { kind: 'refused'; fault: EngineFault | KeyBoundFault }
  | { kind: 'client_left' };

const NO_ENGINE = { kind: 'refused', fault: { kind: 'no_healthy_engine' } } as const;

/** Puts calls on engines that have room for them, in turn. */
export interface EngineQueue {
  /**
   * Throws `overloaded`, or `key_bound_reached` where only its key's own calls are in its way, where a call of this key would
   * be turned away now: known before anything is held for it.
   */
  checkRoom(call: { modelId: string; keyId: string; bytes: number }): void;
  /**
   * Places a call as soon as its key may have more room, one of the engines has some, and it is its turn. `findEngines` says,
   * whenever it is asked, which engines may have it; a call that finds none does not wait.
   */
  place<Engine extends PlaceableEngine>(
    call: QueueableCall,
    findEngines: () => readonly Engine[],
  ): Promise<Turn<Engine>>;
  /** Places a call that had its turn already and was failed: it does not wait again, but goes where room is if it can. */
  placeAgain<Engine extends PlaceableEngine>(
    call: Pick<QueueableCall, 'placement' | 'keyId'>,
    engines: readonly Engine[],
  ): Extract<Turn<Engine>, { kind: 'placed' | 'refused' }>;
  /** The engine refused a call because it is full. */
  sayBusy(engine: PlaceableEngine): void;
  /** Calls that wait, by model. */
  lengths(): Iterable<{ model: string; calls: number }>;
}

export interface EngineQueueOptions {
  placer: Placer;
  queue: QueueLimits;
  room: RoomLimits;
  metrics: Pick<InferenceMetrics, 'queued' | 'shed' | 'keyBoundHit'>;
  nowMs?: () => number;
}

/** Makes the queue of a router: one line for each model, and one measure of each engine's room, whatever models it serves. */
export function createEngineQueue({
  placer,
  queue: queueLimits,
  room: roomLimits,
  metrics,
  nowMs = () => performance.now(),
}: EngineQueueOptions): EngineQueue {
  const queues = new Map<string, CallQueue>();
  const unreadOf = new Map<string, UnreadStreams>();
  const rooms = new WeakMap<PlaceableEngine, EngineRoom>();
  let looking: NodeJS.Timeout | undefined;

  function getRoom(engine: PlaceableEngine): EngineRoom {
    const room = rooms.get(engine) ?? new EngineRoom(roomLimits, nowMs);
    rooms.set(engine, room);
    room.follow(engine);
    return room;
  }

  /** There are never more than models in the catalog. */
  function getQueue(modelId: string): CallQueue {
    const queue = queues.get(modelId) ?? new CallQueue(queueLimits, nowMs);
    queues.set(modelId, queue);
    return queue;
  }

  function getUnread(modelId: string): UnreadStreams {
    const unread = unreadOf.get(modelId) ?? new UnreadStreams();
    unreadOf.set(modelId, unread);
    return unread;
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
      for (const [modelId, queue] of queues) {
        cutUnread(modelId, queue);
        queue.expire();
        waiting += queue.length;
      }
      if (waiting > 0) return;
      clearInterval(looking);
      looking = undefined;
    }, LOOK_MS);
    looking.unref();
  }

  /** One at a time: its room comes free, and only then is it known who still waits. */
  function cutUnread(modelId: string, queue: CallQueue): void {
    const unread = unreadOf.get(modelId);
    const found = unread?.find((keyId) => queue.othersWaitMs(keyId) >= FULL_MS, nowMs());
    if (!unread || !found) return;
    unread.remove(found);
    metrics.keyBoundHit('streams', found.keyId);
    found.cut();
  }

  function placeOn<Engine extends PlaceableEngine>(
    engines: readonly Engine[],
    { placement, keyId }: Pick<QueueableCall, 'placement' | 'keyId'>,
  ): RoomedCall<Engine> | undefined {
    const placed = placer.place(engines, placement);
    if (!placed) return undefined;
    const { engine, uncachedTokens } = placed;
    const { outputTokens } = placer.expectTokens(placement);
    const taken = getRoom(engine).take({
      keyId,
      promptTokens: uncachedTokens,
      outputTokens,
      isStream: placement.isStream,
    });
    const unread = getUnread(placement.modelId);
    let standing: UnreadStream | undefined;
    const onRead = (): void => {
      if (standing) unread.remove(standing);
      standing = undefined;
    };
    let isOver = false;
    return {
      ...placed,
      onFirstEvent() {
        placed.onFirstEvent();
        if (isOver) return;
        taken.read();
        startNext();
      },
      end(counted) {
        placed.end(counted);
        if (isOver) return;
        isOver = true;
        onRead();
        taken.end();
        queues.get(placement.modelId)?.askAgain(keyId);
        startNext();
      },
      onUnread(cut) {
        if (isOver || standing) return;
        standing = { keyId, cut };
        unread.add(standing, nowMs());
      },
      onRead,
    };
  }

  const withRoom = <Engine extends PlaceableEngine>(engines: readonly Engine[], tokens: number): Engine[] =>
    engines.filter((engine) => getRoom(engine).hasRoomFor(tokens));

  /** Whether a key may have no more on these engines. */
  function isBound(engines: readonly PlaceableEngine[], keyId: string): boolean {
    const roomsOf = engines.map(getRoom);
    const bound = findKeyBound(roomsOf, keyId, roomLimits.keyShare);
    if (bound) for (const room of roomsOf) room.wantMore(keyId, bound);
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
    if (queue.isHeldBack(keyId)) return { kind: 'key_bound_reached', bound: 'streams', retryAfterSeconds };
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
    place(call, findEngines) {
      const { placement, keyId: flow, bytes, res } = call;
      const { modelId } = placement;
      const cost = costOf(placement);
      if (res.destroyed) return Promise.resolve({ kind: 'client_left' });
      const tryPlace = (engines: ReturnType<typeof findEngines>) => placeOn(withRoom(engines, cost), call);
      const engines = findEngines();
      if (engines.length === 0) return Promise.resolve(NO_ENGINE);
      const queue = getQueue(modelId);
      const mayGoAhead = !queue.isBehindOthers(flow);
      const placed = mayGoAhead && !isBound(engines, flow) ? tryPlace(engines) : undefined;
      if (placed) return Promise.resolve({ kind: 'placed', placed });
      return new Promise((resolve, reject) => {
        const sinceMs = nowMs();
        const waiting: WaitingCall = {
          flow,
          cost,
          bytes,
          tryStart() {
            try {
              const able = findEngines();
              if (isBound(able, flow)) return 'held_back';
              const found = tryPlace(able);
              if (!found) return 'no_room';
              metrics.queued({ id: modelId }, (nowMs() - sinceMs) / 1_000);
              resolve({ kind: 'placed', placed: found });
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
        queue.join(waiting);
        // What keeps it, room or its own key, decides over those who come next.
        if (mayGoAhead) queue.startNext();
        lookAgain();
      });
    },
    placeAgain(call, engines) {
      const roomy = withRoom(engines, costOf(call.placement));
      const placed = placeOn(roomy.length > 0 ? roomy : engines, call);
      return placed ? { kind: 'placed', placed } : NO_ENGINE;
    },
    sayBusy: (engine) => getRoom(engine).sayBusy(),
    *lengths() {
      for (const [model, { length: calls }] of queues) yield { model, calls };
    },
  };
}
