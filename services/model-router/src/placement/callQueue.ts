import { type Backlog, FairQueue, type Waiting } from './fairQueue.ts';
import { MAX_RETRY_AFTER_SECONDS, MIN_TURN_MS, TURN_SLOT_MS, TURN_WINDOW_MS, UNREAD_MS } from './limits.ts';

/**
 * Why a call is refused by the queue.
 * - `key_share`: its key has its full share of the queue.
 * - `queue_full`: the queue is full, and no other key has more waiting.
 * - `pushed_out`: it was the last call of the key with most waiting and gave its place to another key's call.
 * - `wait_too_long`: its expected wait is too long.
 * - `timeout`: its turn did not come in time.
 */
export type ShedReason = 'key_share' | 'queue_full' | 'pushed_out' | 'wait_too_long' | 'timeout';

/** Limits of the queue for one model. */
export interface QueueLimits {
  maxCalls: number;
  /** Memory of the waiting bodies. */
  maxBytes: number;
  /** Part of `maxCalls` and of `maxBytes` that one key may have, 0 to 1. */
  keyShare: number;
  /** Longest wait of a call. */
  timeoutMs: number;
  /** Longest expected wait. A call above it is refused at once. */
  expectedWaitMs: number;
}

/** The result of a turn. `held_back`: the key has reached its share of the engines, so other keys go first. */
export type Start = 'started' | 'no_room' | 'held_back';

/** A call that waits for its turn. Its flow is its key. */
export interface WaitingCall extends Waiting {
  /** Places the call on an engine, if one takes it. */
  tryStart(): Start;
  turnedAway(reason: ShedReason, retryAfterSeconds: number): void;
}

/**
 * The waiting calls of one model, in fair order between keys. Keys that have reached their share of the engines let
 * other keys pass. The queue has no timer: the caller that frees room calls `startNext`, and `EngineQueue` calls
 * `askAgain` and `expire` regularly.
 */
export class CallQueue {
  /** Streams of the model that their clients do not read. A waiting call may get their room. */
  readonly unread = new UnreadStreams();
  readonly #limits: QueueLimits;
  readonly #nowMs: () => number;
  readonly #fair = new FairQueue<WaitingCall>();
  /** Replaced when calls begin to wait for room. */
  #rate = new TurnRate(0);
  /** Turn rates of the keys with waiting calls, because other keys may send more calls later. */
  readonly #rates = new Map<string, TurnRate>();
  /** Waiting calls, each with the start of its wait. */
  readonly #waiting = new Map<WaitingCall, number>();
  /** Keys that were held back at their last turn and not retried since. */
  readonly #passedOver = new Set<string>();
  /** Whether the last turn found no room. */
  #isRoomAwaited = false;

  constructor(limits: QueueLimits, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  get length(): number {
    return this.#waiting.size;
  }

  /**
   * Returns whether a call of this key has to queue: behind the key's own calls, or behind calls that no engine has
   * room for.
   */
  isBehindOthers(flow: string): boolean {
    return this.#waiting.size > 0 && (this.#isRoomAwaited || this.#fair.backlogOf(flow).calls > 0);
  }

  /** Returns whether the key's waiting calls wait for its own running calls to end. */
  isPassedOver(flow: string): boolean {
    return this.#passedOver.has(flow);
  }

  /** Returns the longest time that another key's call has waited for room, in ms; 0 if none does. */
  othersWaitMs(flow: string): number {
    if (!this.#isRoomAwaited) return 0;
    let earliestMs = this.#nowMs();
    for (const [call, sinceMs] of this.#waiting)
      if (call.flow !== flow && !this.#passedOver.has(call.flow)) earliestMs = Math.min(earliestMs, sinceMs);
    return this.#nowMs() - earliestMs;
  }

  /** Returns why a call of this key and size would be refused now. Returns undefined if it would be queued. */
  findRefusal({ flow, bytes }: Pick<WaitingCall, 'flow' | 'bytes'>): ShedReason | undefined {
    // A single call may be larger than the queue.
    if (this.#waiting.size === 0) return undefined;
    const { expectedWaitMs, keyShare } = this.#limits;
    const own = this.#fair.backlogOf(flow);
    const after = { calls: own.calls + 1, bytes: own.bytes + bytes };
    // A single call may be larger than its key's share.
    if (own.calls > 0 && this.#partOf(after) > keyShare) return 'key_share';
    if (this.#expectedWaitMs(flow) > expectedWaitMs) return 'wait_too_long';
    const isLarger = this.#partOf(this.#largest()?.backlog) > this.#partOf(after);
    return this.#hasPlaceFor(bytes) || isLarger ? undefined : 'queue_full';
  }

  /** Returns the whole seconds after which a call of this key may find a place. */
  retryAfterSeconds(flow: string): number {
    const seconds = Math.ceil(this.#expectedWaitMs(flow) / 1_000);
    return Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_SECONDS);
  }

  /**
   * Queues a call or refuses it. If the queue is full, the last call of the key with most waiting is refused instead.
   */
  join(call: WaitingCall): void {
    const refusal = this.findRefusal(call) ?? this.#makeRoom(call);
    if (refusal) {
      call.turnedAway(refusal, this.retryAfterSeconds(call.flow));
      return;
    }
    this.#note(call, this.#nowMs());
    this.#fair.add(call);
  }

  /**
   * Queues a call again that its engine refused after its turn, before the other calls of its key. Its timeout counts
   * from `sinceMs`. Limits of the queue do not apply to it.
   */
  waitOn(call: WaitingCall, sinceMs: number): void {
    if (this.#nowMs() - sinceMs >= this.#limits.timeoutMs) {
      call.turnedAway('timeout', this.retryAfterSeconds(call.flow));
      return;
    }
    this.#note(call, sinceMs);
    this.#fair.addFirst(call);
  }

  #note(call: WaitingCall, sinceMs: number): void {
    const nowMs = this.#nowMs();
    if (this.#waiting.size === 0) this.#rate = new TurnRate(nowMs);
    if (!this.#rates.has(call.flow)) this.#rates.set(call.flow, new TurnRate(nowMs));
    this.#waiting.set(call, sinceMs);
  }

  /** Removes a call whose client has left. */
  leave(call: WaitingCall): void {
    this.#fair.remove(call);
    this.#forget(call);
  }

  /** Gives turns while an engine has room for the next call. */
  startNext(): void {
    for (;;) {
      const next = this.#waiting.size === 0 ? undefined : this.#fair.peek(this.#passedOver);
      const start = next?.tryStart();
      // The rate is measured only while calls wait for room. Before that, a lack of turns means nothing.
      if (start === 'no_room' && !this.#isRoomAwaited) this.#rate = new TurnRate(this.#nowMs());
      this.#isRoomAwaited = start === 'no_room';
      if (!next || this.#isRoomAwaited) return;
      if (start === 'held_back') {
        this.#passedOver.add(next.flow);
        continue;
      }
      this.#fair.take(this.#passedOver);
      const nowMs = this.#nowMs();
      this.#rate.count(next.cost, nowMs);
      this.#rates.get(next.flow)?.count(next.cost, nowMs);
      this.#forget(next);
    }
  }

  /**
   * Lets held-back keys have turns again: one key after one of its calls ended, or all. The queue does not retry all
   * keys at every turn, because with many keys that takes longer than the turns.
   */
  askAgain(flow?: string): void {
    if (flow === undefined) this.#passedOver.clear();
    else this.#passedOver.delete(flow);
  }

  /** Refuses all calls that have waited for `timeoutMs`. */
  expire(): void {
    const dueMs = this.#nowMs() - this.#limits.timeoutMs;
    for (const [call, sinceMs] of this.#waiting) if (sinceMs <= dueMs) this.#turnAway(call, 'timeout');
  }

  #forget(call: WaitingCall): void {
    this.#waiting.delete(call);
    if (this.#fair.backlogOf(call.flow).calls === 0) this.#rates.delete(call.flow);
  }

  #turnAway(call: WaitingCall, reason: ShedReason): void {
    this.leave(call);
    call.turnedAway(reason, this.retryAfterSeconds(call.flow));
  }

  #makeRoom({ flow, bytes }: WaitingCall): ShedReason | undefined {
    while (!this.#hasPlaceFor(bytes)) {
      const largest = this.#largest();
      const newest = largest && largest.flow !== flow ? this.#fair.newestOf(largest.flow) : undefined;
      if (!newest) return 'queue_full';
      this.#turnAway(newest, 'pushed_out');
    }
    return undefined;
  }

  #hasPlaceFor(bytes: number): boolean {
    const { backlog } = this.#fair;
    return this.#waiting.size === 0 || this.#partOf({ calls: backlog.calls + 1, bytes: backlog.bytes + bytes }) <= 1;
  }

  #largest(): { flow: string; backlog: Backlog } | undefined {
    let largest: { flow: string; backlog: Backlog } | undefined;
    for (const candidate of this.#fair.backlogs())
      if (this.#partOf(candidate.backlog) > this.#partOf(largest?.backlog)) largest = candidate;
    return largest;
  }

  /** Returns a backlog as a part of the queue, by calls or by bytes, whichever is more. */
  #partOf({ calls, bytes }: Omit<Backlog, 'cost'> = { calls: 0, bytes: 0 }): number {
    return Math.max(calls / this.#limits.maxCalls, bytes / this.#limits.maxBytes);
  }

  /**
   * Returns the expected wait of a key's next call in ms, 0 if unknown. Calls ahead count at the pace of all turns, the
   * key's own calls at its own pace; the longer time wins.
   */
  #expectedWaitMs(flow: string): number {
    if (this.#waiting.size === 0) return 0;
    const nowMs = this.#nowMs();
    const all = this.#fair.backlog;
    const own = this.#fair.backlogOf(flow);
    const allMs = this.#rate.msFor(this.#fair.costAhead(flow, this.#passedOver), {
      meanCost: all.cost / all.calls,
      nowMs,
    });
    const ownMs = this.#rates.get(flow)?.msFor(own.cost, { meanCost: own.cost / own.calls, nowMs }) ?? 0;
    return Math.max(allMs, ownMs);
  }
}

/** The rate of turns while calls wait, by their cost. The rate shows the capacity to share. */
export class TurnRate {
  /** The last 10 s in slots, oldest first. */
  readonly #slots: { atMs: number; cost: number }[] = [];
  readonly #beganAtMs: number;

  /** Starts at the beginning of a wait, because earlier turns do not show the engines' capacity. */
  constructor(nowMs: number) {
    this.#beganAtMs = nowMs;
  }

  count(cost: number, nowMs: number): void {
    const atMs = Math.floor(nowMs / TURN_SLOT_MS) * TURN_SLOT_MS;
    const last = this.#slots.at(-1);
    if (last?.atMs === atMs) last.cost += cost;
    else this.#slots.push({ atMs, cost });
    while ((this.#slots[0]?.atMs ?? nowMs) < nowMs - TURN_WINDOW_MS) this.#slots.shift();
  }

  /**
   * Returns the expected time of turns with this cost, in ms; 0 while that is unknown. One more turn of `meanCost` is
   * assumed to come now, so that few turns do not make the time endless.
   */
  msFor(cost: number, { meanCost, nowMs }: { meanCost: number; nowMs: number }): number {
    const sinceMs = Math.max(this.#beganAtMs, nowMs - TURN_WINDOW_MS);
    const recent = this.#slots.filter(({ atMs }) => atMs >= sinceMs - TURN_SLOT_MS);
    const given = recent.reduce((sum, slot) => sum + slot.cost, meanCost);
    const ms = nowMs - sinceMs;
    return ms < MIN_TURN_MS ? 0 : (cost * ms) / given;
  }
}

/** A stream whose client does not read. */
interface UnreadStream {
  readonly keyId: string;
  /** Ends the stream like one whose client has left. */
  cutUnread(): void;
}

/** The streams of one model whose clients do not read, while their engines continue. */
class UnreadStreams {
  /** Start of each stream's unread time, the longest first. */
  readonly #since = new Map<UnreadStream, number>();

  add(stream: UnreadStream, nowMs: number): void {
    this.#since.set(stream, nowMs);
  }

  remove(stream: UnreadStream): void {
    this.#since.delete(stream);
  }

  /**
   * Returns the stream to cut for a waiting call. It belongs to the key with most streams unread for `UNREAD_MS`, and
   * is the one unread longest.
   */
  find(isWaitedFor: (keyId: string) => boolean, nowMs: number): UnreadStream | undefined {
    const byKey = new Map<string, { first: UnreadStream; count: number }>();
    for (const [stream, sinceMs] of this.#since) {
      if (nowMs - sinceMs < UNREAD_MS) break;
      const known = byKey.get(stream.keyId);
      if (known) known.count += 1;
      else byKey.set(stream.keyId, { first: stream, count: 1 });
    }
    const most = [...byKey.values()].sort((a, b) => b.count - a.count);
    return most.find(({ first }) => isWaitedFor(first.keyId))?.first;
  }
}
