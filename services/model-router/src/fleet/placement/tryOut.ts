import type { EngineBook } from './engineBook.ts';
import { EnginePace, MIN_TOKENS } from './enginePace.ts';
import { followCall } from './followCall.ts';

/** About as much of a prompt as a call has to have computed, so that the time of both says the same … */
const PROMPT_TOKENS = 1_000;
/** … but no more than this part of an engine's window. */
const MOST_OF_WINDOW = 0.5;
/** Enough for the pace of a stream to show. */
const OUTPUT_TOKENS = MIN_TOKENS * 2;

/** A call of the router's own, which tells whether an engine that was slow still is. No client waits for it, or pays. */
export interface Trial {
  /** Tokens of its prompt, about; none of them may be cached. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** The engine's first event is here. */
  onFirstEvent(): void;
  /** It is over; `completionTokens` are undefined where it was not answered to its end. */
  end(completionTokens: number | undefined): void;
}

/** An engine that can be tried. */
export interface Tryable {
  /** Tokens that prompt and answer have together, as far as it says. */
  readonly windowTokens?: number | undefined;
  /** Sends it the trial. Never throws: one that comes to nothing ends as well. */
  tryOut(trial: Trial): void;
}

/**
 * Tries an engine that is slow, where the last trial is long enough ago. It counts like any call, so that its time is compared
 * with that of the calls on the other engines, and those need not be tried. A trial that tells nothing, as it is refused, too
 * short or given up, leaves it to clients' calls: an engine that can't be tried must not be left out for ever.
 */
export function tryOut(engine: Tryable, book: EngineBook, nowMs: () => number): void {
  const sentAtMs = nowMs();
  if (!book.trialPause.isOver(sentAtMs)) return;
  book.trialPause.begin(sentAtMs);
  const mostTokens = Math.floor((engine.windowTokens ?? Number.POSITIVE_INFINITY) * MOST_OF_WINDOW);
  const promptTokens = Math.min(PROMPT_TOKENS, mostTokens);
  const entry = book.open(
    { hashes: [], promptBytes: 0, uncachedTokens: promptTokens, outputTokens: OUTPUT_TOKENS, isStream: true },
    sentAtMs,
  );
  const call = followCall(entry, book.pace, nowMs);
  let hasBegun = false;
  engine.tryOut({
    promptTokens,
    outputTokens: OUTPUT_TOKENS,
    onFirstEvent() {
      hasBegun = true;
      call.onFirstEvent();
    },
    end(completionTokens = 0) {
      if (!call.end(completionTokens)) return;
      book.trialPause.end(nowMs());
      if (!hasBegun || completionTokens < MIN_TOKENS) book.pace = new EnginePace();
    },
  });
}
