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

/** What an engine is given before it has shown what it can carry. */
export interface RoomLimits {
  /** Calls at a time. */
  calls: number;
  /** Tokens under way at a time, prompts and answers, on an engine that does not say how many its cache holds. */
  tokens: number;
}

/** What room is measured in. */
export type RoomMeasure = 'calls' | 'tokens';

/**
 * AIMD (additive increase becomes a quarter at a time): how much one router may have under way on one engine. As much as runs there without waiting for
 * long in the engine's own queue, which is first come, first served. The limit begins with what the engine's cache holds, or
 * with the settings. It becomes less by what is too much when more waits there than it begins with in a second, or when the
 * engine says that it is full; and more by a quarter when it was felt and little waited there. Prompts that are still to be
 * computed are limited by themselves. Several routers share an engine in proportion to what they have there.
 *
 * An engine that says it is full is closed for a moment, longer each time; after that, one call at a time finds out whether it
 * takes any.
 */
export class EngineRoom {
  readonly #limits: RoomLimits;
  readonly #load: EngineLoad;
  readonly #nowMs: () => number;
  /** What may be under way, as a part of where it began. */
  #callsFactor = 1;
  #tokensFactor = 1;
  readonly #isLimitFelt: Record<RoomMeasure, boolean> = { calls: false, tokens: false };
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** Whether the last report told how many requests the engine has. */
  #isTold = false;
  #begunBefore = 0;
  #reportsWithQueue = 0;
  /** Tokens that the limit began with: the capacity of the engine's cache, or the setting. */
  #tokensBase: number;
  /** It has begun to answer no call since it said that it is full. */
  #isFull = false;
  #closedUntilMs = Number.NEGATIVE_INFINITY;
  #nextClosedMs = FIRST_CLOSED_MS;

  constructor(limits: RoomLimits, { load, nowMs }: { load: EngineLoad; nowMs: () => number }) {
    this.#limits = limits;
    this.#tokensBase = limits.tokens;
    this.#load = load;
    this.#nowMs = nowMs;
  }

  /** Takes over what the engine says. */
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

  /** Whether a call of so many tokens may go there now. An engine that has nothing of ours takes whatever comes, unless it says that it is full. */
  hasRoomFor(tokens: number): boolean {
    const nowMs = this.#nowMs();
    if (nowMs < this.#closedUntilMs) return false;
    // Tries more, up to where it began, on an engine that says nothing of its queue, or says nothing any more.
    if (nowMs - this.#readAtMs > (this.#isTold ? REPORT_MAX_AGE_MS : ROUND_MS)) {
      this.#readAtMs = nowMs;
      this.#grow(1);
    }
    const { calls, heldTokens, queuedTokens } = this.#load;
    // What is left of sums that came and went may be a little above 0.
    if (this.#isFull && queuedTokens >= 1) return false;
    if (calls === 0) return true;
    if (queuedTokens >= PROMPT_TOKENS_AHEAD) return false;
    const isCallsLimitFelt = calls + 1 > this.#limitOf('calls');
    const isTokensLimitFelt = heldTokens + tokens > this.#limitOf('tokens');
    this.#isLimitFelt.calls ||= isCallsLimitFelt;
    this.#isLimitFelt.tokens ||= isTokensLimitFelt;
    return !isCallsLimitFelt && !isTokensLimitFelt;
  }

  /** What more may be under way. */
  free(measure: RoomMeasure): number {
    return Math.max(0, this.#limitOf(measure) - (measure === 'calls' ? this.#load.calls : this.#load.heldTokens));
  }

  /**
   * A key would have more there if it might: a reason to try more as well, but only where it holds nothing for long. What an
   * engine cannot carry after all is not to be found out with what nobody gets back.
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

  /** The engine says that it is full; calls that were refused together close it once. */
  sayBusy(): void {
    this.#isFull = true;
    this.#shrink(AFTER_BUSY_SHARE);
    const nowMs = this.#nowMs();
    if (nowMs < this.#closedUntilMs) return;
    this.#closedUntilMs = nowMs + this.#nextClosedMs;
    this.#nextClosedMs = Math.min(2 * this.#nextClosedMs, LONGEST_CLOSED_MS);
  }

  /** The engine took a call and began to answer it. */
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

  /** Lets no more be under way than this part of what is. */
  #shrink(part: number): void {
    if (this.#load.calls === 0) return;
    const calls = Math.max(this.#load.calls * part, LEAST_ROOM_CALLS);
    const tokens = (this.#load.heldTokens * calls) / this.#load.calls;
    this.#callsFactor = Math.min(this.#callsFactor, calls / this.#limits.calls);
    this.#tokensFactor = Math.min(this.#tokensFactor, tokens / this.#tokensBase);
  }
}

/** A quarter more, but not beyond the most; what is beyond stays. */
const raise = (factor: number, most: number): number => Math.max(factor, Math.min(factor * ROOM_STEP_FACTOR, most));

/** An engine with a limit to what may be under way there. */
export interface RoomyEngine {
  readonly load: Pick<EngineLoad, 'keys'>;
  readonly room: Pick<EngineRoom, 'free'>;
}

/**
 * Which of the two a key has as much of on these engines as it may while others might want some; undefined if it may have
 * more. A dynamic threshold (Choudhury and Hahne): what it has, beside what is free. With a share of three quarters it may
 * have three times what is free, so alone it gets three quarters of all there is, two get three sevenths each, and however
 * many there are, something is free for one that has nothing yet. Who has fewer calls than that, three, is not bound: of
 * less room than four calls no quarter can be kept.
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
