import type { OpenEntry } from './engineBook.ts';
import type { EnginePace } from './enginePace.ts';

/** A call under way on an engine, which tells how quick that is. */
export interface FollowedCall {
  /** The engine's first event is here: the prompt is computed. */
  onFirstEvent(): void;
  /** It is over; `completionTokens` are undefined where it was not answered to its end. False where it was over before. */
  end(completionTokens: number | undefined): boolean;
}

/** Keeps the books of a call from its first event to its end, each of which counts once. */
export function followCall(entry: OpenEntry, pace: EnginePace, nowMs: () => number): FollowedCall {
  let firstEventAtMs: number | undefined;
  let isOver = false;
  return {
    onFirstEvent() {
      firstEventAtMs ??= nowMs();
      if (!isOver) entry.read(firstEventAtMs);
    },
    end(completionTokens) {
      if (isOver) return false;
      isOver = true;
      entry.close();
      // An answer that came all at once does not say how much of its time the prompt took.
      if (firstEventAtMs !== undefined && completionTokens !== undefined)
        pace.streamEnded({ ms: nowMs() - firstEventAtMs, tokens: completionTokens });
      return true;
    },
  };
}
