import type { EngineReport } from '../placement/engineBook.ts';
import { KeyRoom } from './keyRoom.ts';

/** What an engine is given before it has shown what it can carry. */
export interface RoomLimits {
  /** Calls at a time. */
  calls: number;
  /** Tokens under way at a time, prompts and answers, on an engine that does not say how many its cache holds. */
  tokens: number;
  /** Part of the room on a model's engines that one key alone may have, 0 to 1. */
  keyShare: number;
}

/** What room is measured in. */
export type RoomMeasure = 'calls' | 'tokens';

/** Tokens of prompts that an engine has to compute first: a step of its usual budget, and the next one is full as well. */
const PROMPT_TOKENS_AHEAD = 8_192;
/** A whole answer does not say when its prompt was computed; it counts as computed after so long. */
const WHOLE_PROMPT_MS = 1_000;
/** How long an engine that says nothing of its queue is given before more is tried. */
const ROUND_MS = 2_000;
/** A report that is older says nothing any more. */
const REPORT_MAX_AGE_MS = 6_000;
/** One report may have caught a burst on its way in. */
const REPORTS_BEFORE_LESS = 2;
/** As many calls may wait in the engine as it begins with in so long: it never runs dry, and nobody waits there longer. */
const QUEUE_MS = 1_000;
const MORE = 1.25;
/** An engine whose calls share most of their prompts carries many times what its cache holds. */
const MOST = 8;
/** Part that is left of what was under way on an engine that says it is full. */
const AFTER_BUSY = 0.8;
/** An engine is never thought to carry less than this many calls, or the mean of them: a report is no exact measure. */
const LEAST_CALLS = 4;

/** A call as it counts on its engine. */
export interface RoomTaken {
  keyId: string;
  /** Tokens of its prompt that are not cached there. */
  promptTokens: number;
  outputTokens: number;
  isStream: boolean;
}

/** A call under way on an engine. */
export interface TakenRoom {
  /** Its prompt is computed: the first event is here. */
  read(): void;
  /** It has ended; once. */
  end(): void;
}

/**
 * What one router has under way on one engine, and how much that may be: as much as runs there without waiting for long in
 * the engine's own queue, which is first come, first served. It begins with what the engine's cache holds, or with the
 * settings; becomes less, by what is too much, when more waits there than it begins with in a second, or when the engine says that
 * it is full; and more by a quarter when the limit was felt and little waited there. Prompts that are still to be computed
 * are limited by themselves. Several routers share an engine in proportion to what they have there.
 */
export class EngineRoom {
  readonly #limits: RoomLimits;
  readonly #nowMs: () => number;
  #calls = 0;
  #tokens = 0;
  /** The same by key. */
  readonly #keys = new Map<string, KeyRoom>();
  /** Prompts of streams that had no event yet. */
  #unreadTokens = 0;
  /** The same of whole answers, oldest first. */
  #wholePrompts: { atMs: number; tokens: number }[] = [];
  /** What may be under way, as a part of where it began. */
  #callsFactor = 1;
  #tokensFactor = 1;
  readonly #isLimitFelt: Record<RoomMeasure, boolean> = { calls: false, tokens: false };
  #readAtMs = Number.NEGATIVE_INFINITY;
  #readSince = 0;
  #reportsWithQueue = 0;
  #cacheTokens: number | undefined;

  constructor(limits: RoomLimits, nowMs: () => number) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** Takes over what the engine says of itself. */
  follow({ cacheTokens, report }: EngineReport): void {
    const nowMs = this.#nowMs();
    this.#cacheTokens = cacheTokens;
    if (report && report.atMs > this.#readAtMs) {
      this.#read(report, Math.max(report.atMs - this.#readAtMs, 1));
      this.#readAtMs = report.atMs;
    } else if (nowMs - this.#readAtMs > (report ? REPORT_MAX_AGE_MS : ROUND_MS)) {
      this.#readAtMs = nowMs;
      this.#grow(1);
    }
  }

  /** Whether a call of so many tokens may go there now. An engine that has nothing of ours takes whatever comes. */
  hasRoomFor(tokens: number): boolean {
    if (this.#calls === 0) return true;
    if (this.#promptTokensAhead >= PROMPT_TOKENS_AHEAD) return false;
    const isCallsLimitFelt = this.#calls + 1 > this.#limitOf('calls');
    const isTokensLimitFelt = this.#tokens + tokens > this.#limitOf('tokens');
    this.#isLimitFelt.calls ||= isCallsLimitFelt;
    this.#isLimitFelt.tokens ||= isTokensLimitFelt;
    return !isCallsLimitFelt && !isTokensLimitFelt;
  }

  /** What more may be under way. */
  free(measure: RoomMeasure): number {
    return Math.max(0, this.#limitOf(measure) - (measure === 'calls' ? this.#calls : this.#tokens));
  }

  /** What a key has under way there; undefined if it has nothing. */
  heldBy(keyId: string): Pick<KeyRoom, RoomMeasure> | undefined {
    return this.#keys.get(keyId);
  }

  /**
   * A key would have more there if it might: a reason to try more as well, but only where it holds nothing for long. What an
   * engine cannot carry after all is not to be found out with what nobody gets back.
   */
  wantMore(keyId: string, measure: RoomMeasure): void {
    if (this.#keys.get(keyId)?.comesBackSoon(this.#nowMs())) this.#isLimitFelt[measure] = true;
  }

  /** Counts a call from now on. */
  take({ keyId, promptTokens, outputTokens, isStream }: RoomTaken): TakenRoom {
    const tokens = promptTokens + outputTokens;
    let isRead = false;
    this.#calls += 1;
    this.#tokens += tokens;
    const own = this.#keys.get(keyId) ?? new KeyRoom();
    this.#keys.set(keyId, own);
    const giveBack = own.take(tokens);
    if (isStream) this.#unreadTokens += promptTokens;
    else this.#wholePrompts.push({ atMs: this.#nowMs(), tokens: promptTokens });
    const read = (): void => {
      if (isRead) return;
      isRead = true;
      this.#readSince += 1;
      if (isStream) this.#unreadTokens -= promptTokens;
    };
    return {
      read,
      end: () => {
        read();
        this.#calls -= 1;
        this.#tokens -= tokens;
        giveBack(this.#nowMs());
        if (own.calls === 0) this.#keys.delete(keyId);
        // No prompt is still to be computed; nobody may look at the list for as long as calls come one by one.
        if (this.#calls === 0) this.#wholePrompts = [];
      },
    };
  }

  /** The engine refused a call as it is full. */
  sayBusy(): void {
    this.#shrink(AFTER_BUSY);
  }

  get #promptTokensAhead(): number {
    const sinceMs = this.#nowMs() - WHOLE_PROMPT_MS;
    this.#wholePrompts = this.#wholePrompts.filter(({ atMs }) => atMs > sinceMs);
    return this.#wholePrompts.reduce((sum, { tokens }) => sum + tokens, this.#unreadTokens);
  }

  #limitOf(measure: RoomMeasure): number {
    return measure === 'calls' ? this.#limits.calls * this.#callsFactor : this.#tokensBase * this.#tokensFactor;
  }

  get #tokensBase(): number {
    return this.#cacheTokens ?? this.#limits.tokens;
  }

  #read({ running, waiting }: NonNullable<EngineReport['report']>, afterMs: number): void {
    const mayWait = Math.max(1, (this.#readSince * QUEUE_MS) / afterMs);
    this.#readSince = 0;
    this.#reportsWithQueue = waiting > mayWait ? this.#reportsWithQueue + 1 : 0;
    if (waiting <= mayWait / 2) this.#grow(MOST);
    else if (this.#reportsWithQueue >= REPORTS_BEFORE_LESS) this.#shrink((running + mayWait) / (running + waiting));
  }

  #grow(most: number): void {
    if (this.#isLimitFelt.calls) this.#callsFactor = raise(this.#callsFactor, most);
    if (this.#isLimitFelt.tokens) this.#tokensFactor = raise(this.#tokensFactor, most);
    this.#isLimitFelt.calls = false;
    this.#isLimitFelt.tokens = false;
  }

  /** Lets no more be under way than this part of what is. */
  #shrink(part: number): void {
    if (this.#calls === 0) return;
    const calls = Math.max(this.#calls * part, LEAST_CALLS);
    const tokens = (this.#tokens * calls) / this.#calls;
    this.#callsFactor = Math.min(this.#callsFactor, calls / this.#limits.calls);
    this.#tokensFactor = Math.min(this.#tokensFactor, tokens / this.#tokensBase);
  }
}

/** A quarter more, but not beyond the most; what is beyond stays. */
const raise = (factor: number, most: number): number => Math.max(factor, Math.min(factor * MORE, most));
