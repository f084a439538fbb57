import type { EngineLoad, LoadReport } from './engineLoad.ts';
import {
  AFTER_BUSY_SHARE,
  ENGINE_QUEUE_MS,
  FIRST_CLOSED_MS,
  LEAST_ROOM_CALLS,
  LONGEST_CLOSED_MS,
  MOST_ROOM_FACTOR,
  PROMPT_TOKENS_AHEAD,
  REPORT_MAX_AGE_MS,
  REPORTS_BEFORE_LESS,
  ROOM_STEP_FACTOR,
  ROUND_MS,
} from './terms/limits.ts';

/** Limits of an engine's load until its reports show its capacity. */
export interface RoomLimits {
  /** Concurrent calls. */
  calls: number;
  /** Tokens of prompts and answers in progress, for an engine that does not report its cache capacity. */
  tokens: number;
}

/** The units in which room is measured. */
export type RoomMeasure = 'calls' | 'tokens';

/**
 * AIMD limit on one router's concurrent work for one engine. It aims at a short queue in the engine, because that queue
 * is first come, first served. The limit begins with the engine's cache capacity or with the settings. It falls by the
 * excess when more requests wait than the engine starts in a second, or when the engine reports that it is full. It
 * grows by a quarter when it was reached and little waited. Prompts still to be computed have a limit of their own.
 * Several routers share an engine in proportion to their load there.
 *
 * An engine that reports that it is full is closed for a moment, longer each time. After that, one call at a time tests
 * whether the engine takes any.
 */
export class EngineRoom {
  readonly #limits: RoomLimits;
  readonly #load: EngineLoad;
  readonly #nowMs: () => number;
  /** Current limit as a part of the initial one. */
  #callsFactor = 1;
  #tokensFactor = 1;
  readonly #isLimitFelt: Record<RoomMeasure, boolean> = { calls: false, tokens: false };
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** Whether the last report had the engine's request counts. */
  #isTold = false;
  #begunBefore = 0;
  #reportsWithQueue = 0;
  /** Initial token limit: the capacity of the engine's cache, or the setting. */
  #tokensBase: number;
  /** True from a report that the engine is full until it begins to answer a call. */
  #isFull = false;
  #closedUntilMs = Number.NEGATIVE_INFINITY;
  #nextClosedMs = FIRST_CLOSED_MS;

  constructor(limits: RoomLimits, { load, nowMs }: { load: EngineLoad; nowMs: () => number }) {
    this.#limits = limits;
    this.#tokensBase = limits.tokens;
    this.#load = load;
    this.#nowMs = nowMs;
  }

  /** Adjusts the limit to an engine's report. */
  take({ atMs, running, waiting, cacheTokens }: LoadReport): void {
    this.#tokensBase = cacheTokens ?? this.#limits.tokens;
    this.#isTold = running !== undefined && waiting !== undefined;
    if (running === undefined || waiting === undefined) return;
    const mayWait = Math.max(
      1,
      ((this.#load.begun - this.#begunBefore) * ENGINE_QUEUE_MS) / Math.max(atMs - this.#readAtMs, 1),
    );
    this.#begunBefore = this.#load.begun;
    this.#readAtMs = atMs;
    this.#reportsWithQueue = waiting > mayWait ? this.#reportsWithQueue + 1 : 0;
    if (waiting <= mayWait / 2) this.#grow(MOST_ROOM_FACTOR);
    else if (this.#reportsWithQueue >= REPORTS_BEFORE_LESS) this.#shrink((running + mayWait) / (running + waiting));
  }

  /**
   * Returns whether a call of so many tokens may go to the engine now. An engine without a call of this router takes
   * any call, unless it reported that it is full.
   */
  hasRoomFor(tokens: number): boolean {
    const nowMs = this.#nowMs();
    if (nowMs < this.#closedUntilMs) return false;
    // Without recent queue figures the limit grows again, up to its initial value.
    if (nowMs - this.#readAtMs > (this.#isTold ? REPORT_MAX_AGE_MS : ROUND_MS)) {
      this.#readAtMs = nowMs;
      this.#grow(1);
    }
    const { calls, heldTokens, queuedTokens } = this.#load;
    // Rounding may leave a sum slightly above 0.
    if (this.#isFull && queuedTokens >= 1) return false;
    if (calls === 0) return true;
    if (queuedTokens >= PROMPT_TOKENS_AHEAD) return false;
    const isCallsLimitFelt = calls + 1 > this.#limitOf('calls');
    const isTokensLimitFelt = heldTokens + tokens > this.#limitOf('tokens');
    this.#isLimitFelt.calls ||= isCallsLimitFelt;
    this.#isLimitFelt.tokens ||= isTokensLimitFelt;
    return !isCallsLimitFelt && !isTokensLimitFelt;
  }

  /** Returns how much more may be in progress. */
  free(measure: RoomMeasure): number {
    return Math.max(0, this.#limitOf(measure) - (measure === 'calls' ? this.#load.calls : this.#load.heldTokens));
  }

  /**
   * Notes that a key could use more room, which raises the limit as well. Only keys whose calls end soon count, because
   * calls that hold room for long must not test an engine's capacity.
   */
  wantMore(keyId: string, measure: RoomMeasure): void {
    if (this.#load.keys.get(keyId)?.comesBackSoon(this.#nowMs())) this.#isLimitFelt[measure] = true;
  }

  /**
   * Returns whether a key crowds the engine with calls that do not end soon. With as many tokens more, they may come to more than this
   * share of the cache. Calls of other keys then wait in the engine.
   */
  isCrowdedBy(keyId: string, share: number, moreTokens = 0): boolean {
    const own = this.#load.keys.get(keyId);
    const maxTokens = (own?.maxTokens ?? 0) + moreTokens;
    return maxTokens > share * this.#limitOf('tokens') && !own?.comesBackSoon(this.#nowMs());
  }

  /** Notes that the engine reported to be full. Refusals at the same time close it once. */
  sayBusy(): void {
    this.#isFull = true;
    this.#shrink(AFTER_BUSY_SHARE);
    const nowMs = this.#nowMs();
    if (nowMs < this.#closedUntilMs) return;
    this.#closedUntilMs = nowMs + this.#nextClosedMs;
    this.#nextClosedMs = Math.min(2 * this.#nextClosedMs, LONGEST_CLOSED_MS);
  }

  /** Notes that the engine began to answer a call. */
  sayBegun(): void {
    this.#isFull = false;
    this.#nextClosedMs = FIRST_CLOSED_MS;
  }

  #limitOf(measure: RoomMeasure): number {
    return measure === 'calls' ? this.#limits.calls * this.#callsFactor : this.#tokensBase * this.#tokensFactor;
  }

  #grow(most: number): void {
    if (this.#isLimitFelt.calls) this.#callsFactor = raise(this.#callsFactor, most);
    if (this.#isLimitFelt.tokens) this.#tokensFactor = raise(this.#tokensFactor, most);
    this.#isLimitFelt.calls = false;
    this.#isLimitFelt.tokens = false;
  }

  /** Lowers the limit to a part of the current load. */
  #shrink(part: number): void {
    if (this.#load.calls === 0) return;
    const calls = Math.max(this.#load.calls * part, LEAST_ROOM_CALLS);
    const tokens = (this.#load.heldTokens * calls) / this.#load.calls;
    this.#callsFactor = Math.min(this.#callsFactor, calls / this.#limits.calls);
    this.#tokensFactor = Math.min(this.#tokensFactor, tokens / this.#tokensBase);
  }
}

/** Adds a quarter up to `most`; a factor above `most` stays. */
const raise = (factor: number, most: number): number => Math.max(factor, Math.min(factor * ROOM_STEP_FACTOR, most));

/** An engine with a limit on its load. */
export interface RoomyEngine {
  readonly load: Pick<EngineLoad, 'keys'>;
  readonly room: Pick<EngineRoom, 'free'>;
}

/**
 * Returns the measure in which a key has reached its share of these engines, or undefined if it may have more. Uses a
 * dynamic threshold (Choudhury and Hahne), which compares the key's load with the free room. With a share of three
 * quarters a key may have three times the free room. So one key gets three quarters of the room and two keys get three
 * sevenths each. Some room is always free for a new key. A key with fewer calls than that multiple (three) is not
 * bound, because a room of fewer than four calls cannot keep a quarter free.
 */
export function findKeyBound(engines: readonly RoomyEngine[], keyId: string, share: number): RoomMeasure | undefined {
  let [ownCalls, ownTokens, freeCalls, freeTokens] = [0, 0, 0, 0];
  for (const { load, room } of engines) {
    const own = load.keys.get(keyId);
    ownCalls += own?.calls ?? 0;
    ownTokens += own?.tokens ?? 0;
    freeCalls += room.free('calls');
    freeTokens += room.free('tokens');
  }
  const timesFree = share / (1 - share);
  if (ownCalls < timesFree) return undefined;
  if (ownCalls >= timesFree * freeCalls) return 'calls';
  return ownTokens >= timesFree * freeTokens ? 'tokens' : undefined;
}
