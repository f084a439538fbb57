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

/** An engine's report of its load. Any field may be absent. */
export interface LoadReport {
  /** Time of the report. */
  readonly atMs: number;
  /** Requests that run and wait on the engine, from any sender. */
  readonly running?: number | undefined;
  readonly waiting?: number | undefined;
  /** Capacity of the engine's key-value cache, in tokens. */
  readonly cacheTokens?: number | undefined;
}

/** Work in progress on an engine. */
export interface Work {
  /** Tokens of prompts that the engine has still to compute. */
  readonly queuedTokens: number;
  /** Tokens that the answers in progress are expected to have. */
  readonly answerTokens: number;
}

/** A call as it was placed. */
export interface PlacedPrompt {
  keyId: string;
  hashes: readonly number[];
  /** Rendered bytes of the whole prompt. */
  promptBytes: number;
  /** Tokens of the prompt that the engine is not expected to have cached. */
  uncachedTokens: number;
  /** Tokens that the answer is expected to have. */
  outputTokens: number;
  /** Tokens that the answer may have. */
  maxOutputTokens: number;
  /** Streams report their first event; non-streaming answers have none. */
  isStream: boolean;
}

/** A call that counts in its engine's load until the call ends there. */
export interface LoadedCall extends PlacedPrompt {
  readonly number: number;
  readonly sentAtMs: number;
  /** Tokens of prompts that were still to be computed when the call was sent, its own included. */
  readonly tokensAhead: number;
  /** Numbers of the calls that last brought each block of the prompt to the engine. */
  readonly broughtBy: readonly number[];
  /** Number of the oldest call whose prompt was not known to be computed when this call was sent. */
  readonly oldestUnread: number;
  /** The load of the call's key, and the generation there that counts the call. */
  readonly own: KeyLoad;
  readonly generation: number;
  firstEventAtMs: number | undefined;
}

/**
 * The load of one engine: this router's work, other routers' reported work, the prompts expected in its cache, and its
 * pace.
 */
export class EngineLoad {
  readonly prefixes = new PrefixIndex();
  /** The engine's pace, measured by its calls. Replaced when the measurements may be outdated. */
  pace = new EnginePace();
  /** Whether the engine was left out as slow when the last call was placed. */
  isSlow = false;
  /** Earliest time of the next trial while the engine is slow; infinite while a trial runs. */
  nextTrialAtMs = Number.NEGATIVE_INFINITY;
  /** Calls in progress. This field and the next three are changed here only. */
  calls = 0;
  /** Number of calls that the engine has ever begun to answer. */
  begun = 0;
  /** Work in progress on the engine, by key. */
  readonly keys = new Map<string, KeyLoad>();
  /**
   * Tokens of prompts and answers of all calls in progress. Each call keeps its part of the engine's cache until it
   * ends.
   */
  heldTokens = 0;
  readonly #nowMs: () => number;
  #answerTokens = 0;
  /** Tokens of this router's prompts that the engine has still to compute. */
  #queuedTokens = 0;
  /** Work of other routers on the engine, by their reports. */
  #othersQueuedTokens = 0;
  #othersAnswerTokens = 0;
  /** Non-streaming calls, oldest first, whose prompts still count as queued. */
  readonly #wholePrompts = new Map<number, { atMs: number; tokens: number }>();
  /** Numbers of the calls whose prompts are not known to be computed, oldest first. */
  readonly #unread = new Set<number>();
  /**
   * Other routers' calls in `#unread`, with the time of their report. Routers do not report when a prompt is computed.
   */
  readonly #othersPrompts = new Map<number, number>();
  /** Streams in `#unread`: send time, and tokens of prompts ahead, the stream's own included. */
  readonly #awaited = new Map<number, { atMs: number; tokensAhead: number }>();
  /** Time when the engine last began a stream. */
  #heardAtMs = Number.NEGATIVE_INFINITY;
  #lastNumber = 0;
  #hasCached = false;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Tokens of this router's prompts that the engine has still to compute. */
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

  /** Tokens of this router's work in progress: prompts still to be computed, and answers. */
  get tokensInFlight(): number {
    return this.queuedTokens + this.#answerTokens;
  }

  /** This router's work on the engine. */
  get work(): Work {
    return { queuedTokens: this.queuedTokens, answerTokens: this.#answerTokens };
  }

  /** Tokens of work in progress from all routers, weighted by cost. */
  get loadTokens(): number {
    const queuedTokens = this.queuedTokens + this.#othersQueuedTokens;
    return queuedTokens + OUTPUT_TOKEN_WEIGHT * (this.#answerTokens + this.#othersAnswerTokens);
  }

  /** Replaces another router's reported work on the engine. */
  hearWork(now: Work, before: Work): void {
    this.#othersQueuedTokens += now.queuedTokens - before.queuedTokens;
    this.#othersAnswerTokens += now.answerTokens - before.answerTokens;
  }

  /** Notes a prompt that another router sent to the engine: it is being computed and will be cached. */
  hearPlaced(hashes: readonly number[]): void {
    this.#lastNumber += 1;
    this.prefixes.add(hashes, this.#lastNumber);
    this.#unread.add(this.#lastNumber);
    this.#othersPrompts.set(this.#lastNumber, this.#nowMs());
    this.#countOthersPromptsAsComputed();
  }

  /** Takes over the cache capacity from an engine's report. */
  take({ cacheTokens }: LoadReport): void {
    if (cacheTokens !== undefined) this.prefixes.capacityBytes = cacheTokens * BYTES_PER_TOKEN;
  }

  /** Resets the state after a restart of the engine: its cache is empty, and its pace may differ. */
  restarted(): void {
    this.prefixes.clear();
    this.pace = new EnginePace();
  }

  /**
   * Estimates unreported work in tokens: as much as the engine's next first event is late. Returns 0 while no event is
   * late. `msPerToken` is the time per prompt token up to the first event on other engines.
   */
  lateTokens(msPerToken: number): number {
    const [oldest] = this.#awaited.values();
    if (!oldest) return 0;
    const silentMs = this.#nowMs() - Math.max(oldest.atMs, this.#heardAtMs);
    const dueMs = Math.max(LATE_MS, LATE_FACTOR * msPerToken * (FIXED_TOKENS + oldest.tokensAhead));
    return Math.max(0, silentMs - dueMs) / msPerToken;
  }

  /** Returns the expected cached part of a prompt, 0 to 1. */
  cachedShareOf(hashes: readonly number[], promptBytes: number): number {
    return promptBytes === 0 ? 0 : endOfBlocks(this.prefixes.match(hashes)) / promptBytes;
  }

  /** Counts a call until `end`. */
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

  /** Counts the prompt of a stream as computed, at its first event. */
  firstEvent(call: LoadedCall): void {
    this.#computed(call);
    const nowMs = this.#nowMs();
    call.firstEventAtMs = nowMs;
    this.#heardAtMs = nowMs;
    const msPerToken = (nowMs - call.sentAtMs) / (FIXED_TOKENS + call.tokensAhead);
    this.pace.firstEvents.add(Math.max(msPerToken, LEAST_MS_PER_TOKEN));
  }

  /** Removes a call from the counts and learns from the engine's token count. To be called once. */
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
    // A non-streaming answer does not show how long its prompt took.
    if (firstEventAtMs !== undefined && completionTokens >= MIN_PACED_TOKENS)
      this.pace.streams.add((this.#nowMs() - firstEventAtMs) / completionTokens);
    // An engine that has never counted a cached token may not report them, so its cache is assumed to keep what was
    // sent.
    if (cachedPromptTokens > 0) this.#hasCached = true;
    if (!this.#hasCached || promptTokens === 0 || call.hashes.length === 0) return;
    // A count far below expectation means that the engine dropped the first missing block, and all blocks last used
    // before that block. An exception is a block that was only on its way there.
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

/** The load of one key on one engine, and whether it soon ends. */
export class KeyLoad {
  /** This count and the next two are changed here only. */
  calls = 0;
  tokens = 0;
  /** Upper bound of the tokens of the key's calls. */
  maxTokens = 0;
  /** Number of the current generation. Calls in progress when it began belong to earlier ones. */
  #generation = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #size = 0;
  #left = 0;
  /** Number of calls in the previous generation, if half of them ended soon, else 0. */
  #quickCalls = 0;

  /** Counts a call by its expected and its most tokens. Returns the generation of the call. */
  take(tokens: number, maxTokens: number): number {
    this.calls += 1;
    this.tokens += tokens;
    this.maxTokens += maxTokens;
    return this.#generation;
  }

  /** Removes a call that `take` counted. */
  giveBack(
    { tokens, maxTokens, generation }: { tokens: number; maxTokens: number; generation: number },
    nowMs: number,
  ): void {
    this.calls -= 1;
    this.tokens -= tokens;
    this.maxTokens -= maxTokens;
    if (generation < this.#generation) this.#left -= 1;
    if (this.#left * 2 > this.#size) return;
    // Half of the generation has ended, so the next one begins.
    this.#quickCalls = nowMs - this.#sinceMs <= SOON_MS ? this.#size : 0;
    this.#generation += 1;
    this.#sinceMs = nowMs;
    this.#size = this.calls;
    this.#left = this.calls;
  }

  /**
   * Returns whether half of the key's calls will probably end within `SOON_MS`. They did so last time, with at least
   * half as many calls. False for a burst, because nothing is known of its calls.
   */
  comesBackSoon(nowMs: number): boolean {
    return nowMs - this.#sinceMs <= SOON_MS && this.calls <= 2 * this.#quickCalls;
  }
}

/** One measure of an engine's pace over its calls, in milliseconds a token. */
class PaceMeasure {
  /** The fastest of the last few calls. Undefined before `MIN_PACED_CALLS` calls. Changed here only. */
  now: number | undefined;
  readonly #latest: number;
  readonly #values: number[] = [];
  /** Cached median. Undefined until it is asked for; an engine without others of its model is never compared. */
  #usual: number | undefined;

  /** `latest` is the number of calls that decide the current pace. */
  constructor(latest: number) {
    this.#latest = latest;
  }

  add(msPerToken: number): void {
    this.#values.push(msPerToken);
    if (this.#values.length > USUAL_CALLS) this.#values.shift();
    if (this.#values.length >= MIN_PACED_CALLS) this.now = Math.min(...this.#values.slice(-this.#latest));
    this.#usual = undefined;
  }

  /** The median of many calls, which a short peak of work does not change. Undefined before `MIN_PACED_CALLS` calls. */
  get usual(): number | undefined {
    if (this.#values.length < MIN_PACED_CALLS) return undefined;
    this.#usual ??= lowerMedian(this.#values);
    return this.#usual;
  }
}

/**
 * The pace of one engine, by two measures. The fastest of the last few calls counts, because a slow engine slows all of
 * them. A client that reads slowly, or a prompt that was not cached after all, slows only one call.
 */
export class EnginePace {
  /** Time from sending a call to its first event, per token of prompts still to be computed then, its own included. */
  readonly firstEvents = new PaceMeasure(LATEST_FIRST_EVENTS);
  /** Time from the first event to the last, per token of the answer. */
  readonly streams = new PaceMeasure(LATEST_STREAMS);
}
