import { lowerMedian } from '../health/engineHealth.ts';
import { blocksWithin, endOfBlocks, PrefixIndex } from './promptPrefix.ts';
import type { AttemptResult } from './terms/attemptResult.ts';
import {
  BYTES_PER_TOKEN,
  FIXED_TOKENS,
  LATE_FACTOR,
  LATE_MS,
  LATEST_FIRST_EVENTS,
  LATEST_STREAMS,
  LEAST_HELD,
  LEAST_MS_PER_TOKEN,
  MIN_PACED_CALLS,
  MIN_PACED_TOKENS,
  OTHERS_PROMPT_MS,
  OUTPUT_TOKEN_WEIGHT,
  SOON_MS,
  USUAL_CALLS,
  WHOLE_PROMPT_MS,
} from './terms/limits.ts';

/** What an engine says of its load; any of it may be absent. */
export interface LoadReport {
  /** When it was read. */
  readonly atMs: number;
  /** Requests that run and wait there, whoever sent them. */
  readonly running?: number | undefined;
  readonly waiting?: number | undefined;
  /** Tokens that its key-value cache holds. */
  readonly cacheTokens?: number | undefined;
}

/** Work that is left on an engine. */
export interface Work {
  /** Tokens of prompts that are still to be computed. */
  readonly queuedTokens: number;
  /** Tokens that answers under way are expected to have. */
  readonly answerTokens: number;
}

/** A call as it was placed. */
export interface PlacedPrompt {
  keyId: string;
  hashes: readonly number[];
  /** Rendered bytes of the whole prompt. */
  promptBytes: number;
  /** Tokens of it that are not expected to be cached there. */
  uncachedTokens: number;
  /** Tokens that the answer is expected to have. */
  outputTokens: number;
  /** Tokens that the answer may have. */
  maxOutputTokens: number;
  /** Its first event is heard; a whole answer has none. */
  isStream: boolean;
}

/** A call that counts in the load of its engine until it ends there. */
export interface LoadedCall extends PlacedPrompt {
  readonly number: number;
  readonly sentAtMs: number;
  /** Tokens of prompts that were still to be computed when it was sent, its own included. */
  readonly tokensAhead: number;
  /** Numbers of the calls that last brought each block of its prompt there. */
  readonly broughtBy: readonly number[];
  /** The oldest call whose prompt was not known to be computed when this one was sent. */
  readonly oldestUnread: number;
  /** The load of its key, and the generation there that the call belongs to. */
  readonly own: KeyLoad;
  readonly generation: number;
  firstEventAtMs: number | undefined;
}

/**
 * What one router has under way on one engine and others say that they have there, what it believes to be cached there, and how
 * quick the engine is.
 */
export class EngineLoad {
  readonly prefixes = new PrefixIndex();
  /** How quick it is, as its calls show; anew where that can't be known any more. */
  pace = new EnginePace();
  /** Whether it is left out as slow, as of the last call that was placed. */
  isSlow = false;
  /** When it may be tried again while it is slow; never while a trial is under way. */
  nextTrialAtMs = Number.NEGATIVE_INFINITY;
  /** Calls under way. This and the next three are changed here alone. */
  calls = 0;
  /** Calls of which the engine has begun to answer, ever. */
  begun = 0;
  /** Work under way there, by key. */
  readonly keys = new Map<string, KeyLoad>();
  /** Tokens of prompts and answers of all calls under way, which keep their part of the engine's cache until the end. */
  heldTokens = 0;
  readonly #nowMs: () => number;
  #answerTokens = 0;
  /** Of prompts that are still to be computed. */
  #queuedTokens = 0;
  /** The work of other routers there, as they say. */
  #othersQueuedTokens = 0;
  #othersAnswerTokens = 0;
  /** Whole answers, oldest first, whose prompts still count as queued. */
  readonly #wholePrompts = new Map<number, { atMs: number; tokens: number }>();
  /** Numbers of the calls whose prompt is not known to be computed, oldest first. */
  readonly #unread = new Set<number>();
  /** Other routers' calls among them, by when they were heard of: when they have been computed is not told. */
  readonly #othersPrompts = new Map<number, number>();
  /** Streams among them: when each was sent, and behind how many tokens of prompts, its own included. */
  readonly #awaited = new Map<number, { atMs: number; tokensAhead: number }>();
  /** When it last began a stream. */
  #heardAtMs = Number.NEGATIVE_INFINITY;
  #lastNumber = 0;
  #hasCached = false;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Tokens of this router's prompts that are still to be computed. */
  get queuedTokens(): number {
    if (this.#wholePrompts.size > 0) this.#countWholePromptsAsComputed();
    return this.#queuedTokens;
  }

  #countWholePromptsAsComputed(): void {
    const sinceMs = this.#nowMs() - WHOLE_PROMPT_MS;
    for (const [number, { atMs, tokens }] of this.#wholePrompts) {
      if (atMs > sinceMs) return;
      this.#wholePrompts.delete(number);
      this.#queuedTokens -= tokens;
    }
  }

  #countOthersPromptsAsComputed(): void {
    const sinceMs = this.#nowMs() - OTHERS_PROMPT_MS;
    for (const [number, atMs] of this.#othersPrompts) {
      if (atMs > sinceMs) return;
      this.#othersPrompts.delete(number);
      this.#unread.delete(number);
    }
  }

  /** Tokens of this router's work under way: prompts that are still to be computed, and answers. */
  get tokensInFlight(): number {
    return this.queuedTokens + this.#answerTokens;
  }

  /** This router's work there. */
  get work(): Work {
    return { queuedTokens: this.queuedTokens, answerTokens: this.#answerTokens };
  }

  /** Tokens of work under way, whoever sent it, each by what it costs. */
  get loadTokens(): number {
    const queuedTokens = this.queuedTokens + this.#othersQueuedTokens;
    return queuedTokens + OUTPUT_TOKEN_WEIGHT * (this.#answerTokens + this.#othersAnswerTokens);
  }

  /** Another router has so much work there now, and had so much when it was heard before. */
  hearWork(now: Work, before: Work): void {
    this.#othersQueuedTokens += now.queuedTokens - before.queuedTokens;
    this.#othersAnswerTokens += now.answerTokens - before.answerTokens;
  }

  /** Another router has sent a prompt there: it is being computed, and will be cached. */
  hearPlaced(hashes: readonly number[]): void {
    this.#lastNumber += 1;
    this.prefixes.add(hashes, this.#lastNumber);
    this.#unread.add(this.#lastNumber);
    this.#othersPrompts.set(this.#lastNumber, this.#nowMs());
    this.#countOthersPromptsAsComputed();
  }

  /** Takes over what the engine says. */
  take({ cacheTokens }: LoadReport): void {
    if (cacheTokens !== undefined) this.prefixes.capacityBytes = cacheTokens * BYTES_PER_TOKEN;
  }

  /** The engine began anew: nothing is cached there, and it may be quicker. */
  restarted(): void {
    this.prefixes.clear();
    this.pace = new EnginePace();
  }

  /**
   * Tokens of work that it must have besides what it was sent, as its next first event is late: it is taken to have as much
   * left as it is late. `msPerToken` is what a prompt's token takes up to the first event elsewhere.
   */
  lateTokens(msPerToken: number): number {
    const [oldest] = this.#awaited.values();
    if (!oldest) return 0;
    const silentMs = this.#nowMs() - Math.max(oldest.atMs, this.#heardAtMs);
    const dueMs = Math.max(LATE_MS, LATE_FACTOR * msPerToken * (FIXED_TOKENS + oldest.tokensAhead));
    return Math.max(0, silentMs - dueMs) / msPerToken;
  }

  /** Part of a prompt that is expected to be cached, 0 to 1. */
  cachedShareOf(hashes: readonly number[], promptBytes: number): number {
    return promptBytes === 0 ? 0 : endOfBlocks(this.prefixes.match(hashes)) / promptBytes;
  }

  /** Counts a call from now on, until `end`. */
  open(prompt: PlacedPrompt): LoadedCall {
    const { keyId, hashes, uncachedTokens, outputTokens, maxOutputTokens, isStream } = prompt;
    const sentAtMs = this.#nowMs();
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    if (this.#othersPrompts.size > 0) this.#countOthersPromptsAsComputed();
    const [oldestUnread = number] = this.#unread;
    const broughtBy = this.prefixes.add(hashes, number);
    this.#unread.add(number);
    const tokensAhead = this.queuedTokens + this.#othersQueuedTokens + uncachedTokens;
    if (isStream) this.#awaited.set(number, { atMs: sentAtMs, tokensAhead });
    else this.#wholePrompts.set(number, { atMs: sentAtMs, tokens: uncachedTokens });
    this.calls += 1;
    this.#queuedTokens += uncachedTokens;
    this.#answerTokens += outputTokens;
    this.heldTokens += uncachedTokens + outputTokens;
    const own = this.keys.get(keyId) ?? new KeyLoad();
    this.keys.set(keyId, own);
    const generation = own.take(uncachedTokens + outputTokens, uncachedTokens + maxOutputTokens);
    const firstEventAtMs = undefined;
    return { ...prompt, number, sentAtMs, tokensAhead, broughtBy, oldestUnread, own, generation, firstEventAtMs };
  }

  /** Counts the prompt of a stream as computed: its first event is here. */
  firstEvent(call: LoadedCall): void {
    this.#computed(call);
    const nowMs = this.#nowMs();
    call.firstEventAtMs = nowMs;
    this.#heardAtMs = nowMs;
    const msPerToken = (nowMs - call.sentAtMs) / (FIXED_TOKENS + call.tokensAhead);
    this.pace.firstEvents.add(Math.max(msPerToken, LEAST_MS_PER_TOKEN));
  }

  /** Counts a call no more, and learns from the engine's count of it. To be called once. */
  end(call: LoadedCall, result: AttemptResult): void {
    this.#computed(call);
    const { keyId, own, generation, uncachedTokens, outputTokens, maxOutputTokens, firstEventAtMs } = call;
    const tokens = uncachedTokens + outputTokens;
    this.calls -= 1;
    this.#answerTokens -= outputTokens;
    this.heldTokens -= tokens;
    own.giveBack({ tokens, maxTokens: uncachedTokens + maxOutputTokens, generation }, this.#nowMs());
    if (own.calls === 0) this.keys.delete(keyId);
    const counted = result.kind === 'whole' ? result.usage : undefined;
    if (!counted) return;
    const { promptTokens, cachedPromptTokens, completionTokens } = counted;
    // An answer that came all at once does not say how much of its time the prompt took.
    if (firstEventAtMs !== undefined && completionTokens >= MIN_PACED_TOKENS)
      this.pace.streams.add((this.#nowMs() - firstEventAtMs) / completionTokens);
    // An engine that never counts any cached token does not say, and is believed to have what it was sent.
    if (cachedPromptTokens > 0) this.#hasCached = true;
    if (!this.#hasCached || promptTokens === 0 || call.hashes.length === 0) return;
    // If it had far less than was believed, it has dropped the first block that was missing, and with it all that was used no later;
    // unless that block was only just on its way there.
    const { broughtBy, oldestUnread, promptBytes } = call;
    const held = blocksWithin((promptBytes * cachedPromptTokens) / promptTokens);
    const missing = broughtBy[held];
    const isDropped = missing !== undefined && held + 1 < LEAST_HELD * broughtBy.length && missing < oldestUnread;
    if (isDropped) this.prefixes.forgetUpTo(missing);
  }

  #computed({ number, isStream, uncachedTokens }: LoadedCall): void {
    if (!this.#unread.delete(number)) return;
    this.begun += 1;
    if (isStream ? this.#awaited.delete(number) : this.#wholePrompts.delete(number))
      this.#queuedTokens -= uncachedTokens;
  }
}

/** What one key has under way on one engine, and whether others could soon have it. */
export class KeyLoad {
  /** This and the next two counts are changed here alone. */
  calls = 0;
  tokens = 0;
  /** Tokens that its calls may come to. */
  maxTokens = 0;
  /** Calls that were under way when the generation began are of an earlier one. */
  #generation = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #size = 0;
  #left = 0;
  /** Calls of the generation before, if half of them ended soon. */
  #quickCalls = 0;

  /** Counts a call, by its expected tokens and by its most. Returns the generation that it belongs to. */
  take(tokens: number, maxTokens: number): number {
    this.calls += 1;
    this.tokens += tokens;
    this.maxTokens += maxTokens;
    return this.#generation;
  }

  /** Ends a call that `take` counted. */
  giveBack(
    { tokens, maxTokens, generation }: { tokens: number; maxTokens: number; generation: number },
    nowMs: number,
  ): void {
    this.calls -= 1;
    this.tokens -= tokens;
    this.maxTokens -= maxTokens;
    if (generation < this.#generation) this.#left -= 1;
    if (this.#left * 2 > this.#size) return;
    // Half of the generation has ended, and another one begins.
    this.#quickCalls = nowMs - this.#sinceMs <= SOON_MS ? this.#size : 0;
    this.#generation += 1;
    this.#sinceMs = nowMs;
    this.#size = this.calls;
    this.#left = this.calls;
  }

  /**
   * Whether half of what it has will most likely have ended in 20 s: as it was the last time, with at least half as many
   * calls, and as it still may be. Of a burst nothing is known.
   */
  comesBackSoon(nowMs: number): boolean {
    return nowMs - this.#sinceMs <= SOON_MS && this.calls <= 2 * this.#quickCalls;
  }
}

/** One measure of an engine's pace, in milliseconds a token, as its calls show it one after the other. */
class PaceMeasure {
  /** The quickest of the last few calls; undefined until there were some. Changed here alone. */
  now: number | undefined;
  readonly #latest: number;
  readonly #values: number[] = [];
  /** The usual value, once it was asked for. Of one engine alone it is undefined, because it is compared with no other. */
  #usual: number | undefined;

  /** `latest` is how many calls tell what the pace is now. */
  constructor(latest: number) {
    this.#latest = latest;
  }

  add(msPerToken: number): void {
    this.#values.push(msPerToken);
    if (this.#values.length > USUAL_CALLS) this.#values.shift();
    if (this.#values.length >= MIN_PACED_CALLS) this.now = Math.min(...this.#values.slice(-this.#latest));
    this.#usual = undefined;
  }

  /** The median of many calls, which a moment of much work does not change; undefined until there were some. */
  get usual(): number | undefined {
    if (this.#values.length < MIN_PACED_CALLS) return undefined;
    this.#usual ??= lowerMedian(this.#values);
    return this.#usual;
  }
}

/**
 * How quick one engine is, by two measures. The quickest of the last few calls counts: a slow engine makes all of them slow,
 * while a client that reads slowly, or a prompt that was not cached after all, is alone with it.
 */
export class EnginePace {
  /** From sending a call to its first event, by the tokens of prompts that were still to be computed then, its own included. */
  readonly firstEvents = new PaceMeasure(LATEST_FIRST_EVENTS);
  /** From the first event to the last, by the tokens of the answer. */
  readonly streams = new PaceMeasure(LATEST_STREAMS);
}
