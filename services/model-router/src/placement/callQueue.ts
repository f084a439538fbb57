import { type Backlog, FairQueue, type Waiting } from './fairQueue.ts';
import { MAX_RETRY_AFTER_SECONDS, MIN_TURN_MS, TURN_SLOT_MS, TURN_WINDOW_MS, UNREAD_MS } from './limits.ts';

/**
 * Why a call is turned away.
 * - `key_share`: its key has its part of the queue already.
 * - `queue_full`: there is no more room, and nobody has more waiting than its key.
 * - `pushed_out`: it was the last of the key with most waiting, and gave way to another key's.
 * - `wait_too_long`: its turn would come too late, as turns are given now.
 * - `timeout`: its turn did not come in time.
 */
export type ShedReason = 'key_share' | 'queue_full' | 'pushed_out' | 'wait_too_long' | 'timeout';

/** How much may wait for the engines of one model. */
export interface QueueLimits {
  maxCalls: number;
  /** Memory of the bodies that wait. */
  maxBytes: number;
  /** Part of both that one key may have, 0 to 1. */
  keyShare: number;
  /** The longest that a call waits. */
  timeoutMs: number;
  /** A call that is expected to wait longer is told at once. */
  expectedWaitMs: number;
}

/** What comes of a turn; `held_back`: its key has as much under way as it may, so it lets others pass. */
export type Start = 'started' | 'no_room' | 'held_back';

/** A call that waits for its turn; its flow is its key. */
export interface WaitingCall extends Waiting {
  /** Puts it on an engine, if it can. */
  tryStart(): Start;
  turnedAway(reason: ShedReason, retryAfterSeconds: number): void;
}

/**
 * The calls of one model that no engine has room for, in fair order between keys; those whose own key holds them back let
 * the others pass. Nothing happens here by itself: whoever frees room calls `startNext`, and somebody `askAgain` and `expire`
 * now and then.
 */
export class CallQueue {
  /** Streams of the model that nobody reads, in whose place those that wait could be. */
  readonly unread = new UnreadStreams();
  readonly #limits: QueueLimits;
  readonly #nowMs: () => number;
  readonly #fair = new FairQueue<WaitingCall>();
  /** Made anew when calls begin to wait for room. */
  #rate = new TurnRate(0);
  /** The same for each key that has calls waiting: others may send more than is waiting now. */
  readonly #rates = new Map<string, TurnRate>();
  /** Those that wait, each with the time since when. */
  readonly #waiting = new Map<WaitingCall, number>();
  /** Keys that held their calls back when they had a turn, and were not asked again since. */
  readonly #passedOver = new Set<string>();
  /** As of the last turn. */
  #isRoomAwaited = false;

  constructor(limits: QueueLimits, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  get length(): number {
    return this.#waiting.size;
  }

  /** Whether a call of this key has anybody before it: its own calls, or others that no engine has room for. */
  isBehindOthers(flow: string): boolean {
    return this.#waiting.size > 0 && (this.#isRoomAwaited || this.#fair.backlogOf(flow).calls > 0);
  }

  /** Whether what waits of this key waits for its own calls to end. */
  isPassedOver(flow: string): boolean {
    return this.#passedOver.has(flow);
  }

  /** How long a call of another key has waited for room, of those that wait longest; 0 if none does. */
  othersWaitMs(flow: string): number {
    if (!this.#isRoomAwaited) return 0;
    let earliestMs = this.#nowMs();
    for (const [call, sinceMs] of this.#waiting)
      if (call.flow !== flow && !this.#passedOver.has(call.flow)) earliestMs = Math.min(earliestMs, sinceMs);
    return this.#nowMs() - earliestMs;
  }

  /** Why a call of this key and size would be turned away now; undefined if it would not. */
  findRefusal({ flow, bytes }: Pick<WaitingCall, 'flow' | 'bytes'>): ShedReason | undefined {
    // What is alone may be larger than all there is.
    if (this.#waiting.size === 0) return undefined;
    const { expectedWaitMs, keyShare } = this.#limits;
    const own = this.#fair.backlogOf(flow);
    const after = { calls: own.calls + 1, bytes: own.bytes + bytes };
    // What is alone may be larger than a share.
    if (own.calls > 0 && this.#partOf(after) > keyShare) return 'key_share';
    if (this.#expectedWaitMs(flow) > expectedWaitMs) return 'wait_too_long';
    const isLarger = this.#partOf(this.#largest()?.backlog) > this.#partOf(after);
    return this.#hasPlaceFor(bytes) || isLarger ? undefined : 'queue_full';
  }

  /** Whole seconds after which a call of this key may find a place. */
  retryAfterSeconds(flow: string): number {
    const seconds = Math.ceil(this.#expectedWaitMs(flow) / 1_000);
    return Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_SECONDS);
  }

  /** Lets a call wait, or turns it away; where the queue is full the key with most waiting gives way. */
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
   * Lets a call wait on that its engine refused when it had its turn: before the others of its key, for as long as it may from
   * `sinceMs` on. It is not turned away for what has come since, nor does another give way to it.
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

  /** Takes a call out whose client is gone. */
  leave(call: WaitingCall): void {
    this.#fair.remove(call);
    this.#forget(call);
  }

  /** Gives turns as long as an engine has room for the next in line. */
  startNext(): void {
    for (;;) {
      const next = this.#waiting.size === 0 ? undefined : this.#fair.peek(this.#passedOver);
      const start = next?.tryStart();
      // While nobody waited for room, that none had a turn said nothing of it.
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
   * Has keys asked again that held their calls back: one of which a call has ended, or all. Where many do, to ask each of them
   * at every turn would take longer than the turns.
   */
  askAgain(flow?: string): void {
    if (flow === undefined) this.#passedOver.clear();
    else this.#passedOver.delete(flow);
  }

  /** Turns away all that waited too long. */
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

  /** How much of the queue that is, by calls or by bytes, whichever is more. */
  #partOf({ calls, bytes }: Omit<Backlog, 'cost'> = { calls: 0, bytes: 0 }): number {
    return Math.max(calls / this.#limits.maxCalls, bytes / this.#limits.maxBytes);
  }

  /** What waits ahead at the pace of all turns, or the key's own calls at its own, whichever is longer; 0 if not known. */
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

/** How fast turns are given while calls wait for them, by what they cost: what there is to share, as it shows. */
export class TurnRate {
  /** The last 10 s in slots, oldest first. */
  readonly #slots: { atMs: number; cost: number }[] = [];
  readonly #beganAtMs: number;

  /** To be made when calls begin to wait: what was before says nothing of what engines can carry. */
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
   * How long the turns of so much cost will take; 0 while that cannot be told. One more turn, of `meanCost`, is taken to come
   * right now, so that few turns do not make it endless.
   */
  msFor(cost: number, { meanCost, nowMs }: { meanCost: number; nowMs: number }): number {
    const sinceMs = Math.max(this.#beganAtMs, nowMs - TURN_WINDOW_MS);
    const recent = this.#slots.filter(({ atMs }) => atMs >= sinceMs - TURN_SLOT_MS);
    const given = recent.reduce((sum, slot) => sum + slot.cost, meanCost);
    const ms = nowMs - sinceMs;
    return ms < MIN_TURN_MS ? 0 : (cost * ms) / given;
  }
}

/** A stream that its client does not read. */
interface UnreadStream {
  readonly keyId: string;
  /** Ends it as if its client had left. */
  cutUnread(): void;
}

/** Streams of one model whose clients do not read, though their engines go on. */
class UnreadStreams {
  /** The time since which each is unread, longest first. */
  readonly #since = new Map<UnreadStream, number>();

  add(stream: UnreadStream, nowMs: number): void {
    this.#since.set(stream, nowMs);
  }

  remove(stream: UnreadStream): void {
    this.#since.delete(stream);
  }

  /** The one to cut so that others have its room: of the key with most that were unread for 5 s, the one unread longest. */
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
