import { EnginePace, FIXED_TOKENS } from './enginePace.ts';
import { blocksWithin, endOfBlocks } from './hashPrefix.ts';
import { PrefixIndex } from './prefixIndex.ts';
import { TrialPause } from './trialPause.ts';

/** What a token of an answer weighs beside one of a prompt: prompts are computed many tokens at a time. */
const OUTPUT_TOKEN_WEIGHT = 4;
/** Nominal, for the size of a cache: an estimate that is too large is corrected by what engines count. */
const BYTES_PER_TOKEN = 4;
/**
 * Part of the expected blocks that an engine has to have had, or it has dropped something. Not all of a prompt has as many
 * bytes to a token as the rest, so a small difference says nothing; nor does one block, which an engine may have had but
 * for a few tokens.
 */
const LEAST_HELD = 0.9;

/** A first event is late once it takes this many times as long as it usually does … */
const LATE_FACTOR = 2;
/** … and longer than this: what nobody feels is no reason. */
const LATE_MS = 100;

/** What an engine said of its load longer ago than this is not heeded. */
const REPORT_MAX_AGE_MS = 6_000;

/** What an engine says of itself; any of it may be absent. */
export interface EngineReport {
  /** Changes when the engine is restarted. */
  readonly revision?: string | undefined;
  /** Tokens that its key-value cache holds. */
  readonly cacheTokens?: number | undefined;
  /** Requests that run and wait there, whoever sent them; `atMs` by the placer's clock. */
  readonly report?: { readonly atMs: number; readonly running: number; readonly waiting: number } | undefined;
}

/** A call as it was placed. */
export interface Entry {
  hashes: readonly number[];
  /** Rendered bytes of the whole prompt. */
  promptBytes: number;
  uncachedTokens: number;
  outputTokens: number;
  /** Its first event is heard; a whole answer has none. */
  isStream: boolean;
}

/** An engine's count of a whole call. */
export interface CountedCall {
  promptTokens: number;
  cachedPromptTokens: number;
  completionTokens: number;
}

/** What one router keeps about one engine: the work it has sent there, the prefixes, and how quick it is. */
export class EngineBook {
  readonly prefixes = new PrefixIndex();
  /** How quick it is, as its calls show; anew where that can't be known any more. */
  pace = new EnginePace();
  readonly trialPause = new TrialPause();
  /** Whether it is left out as slow, as of the last call that was placed. */
  isSlow = false;
  /** Of calls without a first event: prompt tokens still to be computed. */
  #queuedTokens = 0;
  /** Of all calls under way: tokens of answers. */
  #answerTokens = 0;
  #calls = 0;
  /** The most calls at a time since the engine's last report was seen, and between the two before. */
  #peaks: [current: number, previous: number] = [0, 0];
  /** Numbers of the calls whose prompt is not known to be computed, oldest first. */
  readonly #unread = new Set<number>();
  /** Streams among them: when each was sent, and behind how many tokens of prompts, its own included. */
  readonly #awaited = new Map<number, { atMs: number; tokensAhead: number }>();
  /** When it last began a stream. */
  #heardAtMs = Number.NEGATIVE_INFINITY;
  #lastNumber = 0;
  #hasCached = false;
  #revision: string | undefined;
  /** Calls of other routers, as of the engine's last report. */
  #foreign = { atMs: Number.NEGATIVE_INFINITY, calls: 0 };

  get calls(): number {
    return this.#calls;
  }

  /** Tokens of calls under way, prompts that are still to be computed and answers. */
  get tokensInFlight(): number {
    return this.#queuedTokens + this.#answerTokens;
  }

  /** The same, each token by what it costs. */
  get loadTokens(): number {
    return this.#queuedTokens + OUTPUT_TOKEN_WEIGHT * this.#answerTokens;
  }

  /** Takes over what the engine says of itself: a restarted one has nothing cached. */
  follow({ revision, cacheTokens, report }: EngineReport): void {
    if (cacheTokens !== undefined) this.prefixes.capacityBytes = cacheTokens * BYTES_PER_TOKEN;
    if (report && report.atMs !== this.#foreign.atMs) this.#readReport(report);
    if (revision === undefined || revision === this.#revision) return;
    if (this.#revision !== undefined) {
      this.prefixes.clear();
      this.pace = new EnginePace();
    }
    this.#revision = revision;
  }

  /** Calls under way there that this router did not send; none once the engine's last report is stale. */
  foreignCalls(nowMs: number): number {
    return nowMs - this.#foreign.atMs > REPORT_MAX_AGE_MS ? 0 : this.#foreign.calls;
  }

  /**
   * Tokens of work that it must have besides what it was sent, as its next first event is late: it is taken to have as much
   * left as it is late. `msPerToken` is what a prompt's token takes up to the first event elsewhere.
   */
  lateTokens(nowMs: number, msPerToken: number): number {
    const [oldest] = this.#awaited.values();
    if (!oldest) return 0;
    const silentMs = nowMs - Math.max(oldest.atMs, this.#heardAtMs);
    const dueMs = Math.max(LATE_MS, LATE_FACTOR * msPerToken * (FIXED_TOKENS + oldest.tokensAhead));
    return Math.max(0, silentMs - dueMs) / msPerToken;
  }

  /** Part of a prompt that is expected to be cached, 0 to 1. */
  cachedShareOf(hashes: readonly number[], promptBytes: number): number {
    return promptBytes === 0 ? 0 : endOfBlocks(this.prefixes.match(hashes)) / promptBytes;
  }

  /** Counts a call from its selection on. */
  open(entry: Entry, nowMs: number): OpenEntry {
    const { hashes, uncachedTokens, outputTokens, isStream } = entry;
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    const [oldestUnread = number] = this.#unread;
    const matched = this.prefixes.match(hashes);
    const broughtBy = this.prefixes.callsOf(hashes, matched);
    this.prefixes.add(hashes, number);
    this.#unread.add(number);
    const tokensAhead = this.#queuedTokens + uncachedTokens;
    if (isStream) this.#awaited.set(number, { atMs: nowMs, tokensAhead });
    this.#calls += 1;
    this.#peaks[0] = Math.max(this.#peaks[0], this.#calls);
    this.#queuedTokens += uncachedTokens;
    this.#answerTokens += outputTokens;
    const forget = (): void => {
      this.#awaited.delete(number);
      if (this.#unread.delete(number)) this.#queuedTokens -= uncachedTokens;
    };
    return {
      read: (readAtMs) => {
        if (!this.#unread.has(number)) return;
        forget();
        this.#heardAtMs = readAtMs;
        this.pace.firstEvent({ ms: readAtMs - nowMs, tokensAhead, nowMs: readAtMs });
      },
      close: () => {
        forget();
        this.#calls -= 1;
        this.#answerTokens -= outputTokens;
      },
      correct: (counted) => this.#correct(entry, { broughtBy, oldestUnread, counted }),
    };
  }

  /** A report is older than its reader: some of the calls in it may be our own that have ended since, so those count too. */
  #readReport({ atMs, running, waiting }: NonNullable<EngineReport['report']>): void {
    this.#foreign = { atMs, calls: Math.max(0, running + waiting - Math.max(...this.#peaks)) };
    this.#peaks = [this.#calls, this.#peaks[0]];
  }

  /**
   * Learns from how much of a prompt the engine had. If it had far less than was believed, it has dropped the first block that
   * was missing, and with it all that was used no later; unless that block was only just on its way there. An engine that
   * never counts any cached token does not say, and is believed to have what it was sent.
   */
  #correct(
    { hashes, promptBytes }: Entry,
    { broughtBy, oldestUnread, counted }: { broughtBy: number[]; oldestUnread: number; counted: CountedCall },
  ): void {
    if (counted.cachedPromptTokens > 0) this.#hasCached = true;
    if (!this.#hasCached || counted.promptTokens === 0 || hashes.length === 0) return;
    const held = blocksWithin((promptBytes * counted.cachedPromptTokens) / counted.promptTokens);
    const missing = broughtBy[held];
    if (missing === undefined || held + 1 >= LEAST_HELD * broughtBy.length || missing >= oldestUnread) return;
    this.prefixes.forgetUpTo(missing);
  }
}

/** A call under way on an engine. */
export interface OpenEntry {
  /** Its prompt is computed: the first event is here. */
  read(nowMs: number): void;
  /** It has ended; once. */
  close(): void;
  correct(counted: CountedCall): void;
}
