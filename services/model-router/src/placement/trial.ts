import type { Engine } from '../engines/engine.ts';
import { EnginePace } from '../engines/engineLoad.ts';
import { MIN_PACED_TOKENS } from '../engines/terms/limits.ts';
import {
  LEAST_TRIAL_PAUSE_MS,
  TRIAL_OUTPUT_TOKENS,
  TRIAL_PAUSE_FACTOR,
  TRIAL_PROMPT_TOKENS,
  TRIAL_WINDOW_SHARE,
} from './limits.ts';

/**
 * Tries an engine that is slow, where the last trial is long enough ago. It counts like any call, so that its time is compared
 * with that of the calls on the other engines, and those need not be tried. A trial that tells nothing, as it is refused, too
 * short or given up, leaves it to clients' calls: an engine that can't be tried must not be left out for ever.
 */
export function tryOut(engine: Pick<Engine, 'load' | 'windowTokens' | 'tryOut'>, nowMs: () => number): void {
  const { load, windowTokens = Number.POSITIVE_INFINITY } = engine;
  const sentAtMs = nowMs();
  if (sentAtMs < load.nextTrialAtMs) return;
  load.nextTrialAtMs = Number.POSITIVE_INFINITY;
  const promptTokens = Math.min(TRIAL_PROMPT_TOKENS, Math.floor(windowTokens * TRIAL_WINDOW_SHARE));
  const call = load.open({
    keyId: '',
    hashes: [],
    promptBytes: 0,
    uncachedTokens: promptTokens,
    outputTokens: TRIAL_OUTPUT_TOKENS,
    maxOutputTokens: TRIAL_OUTPUT_TOKENS,
    isStream: true,
  });
  let hasBegun = false;
  let isOver = false;
  engine.tryOut({
    promptTokens,
    outputTokens: TRIAL_OUTPUT_TOKENS,
    onFirstEvent() {
      if (!hasBegun && !isOver) load.firstEvent(call);
      hasBegun = true;
    },
    end(completionTokens = 0) {
      if (isOver) return;
      isOver = true;
      const counted = { promptTokens, cachedPromptTokens: 0, completionTokens };
      load.end(call, { kind: 'answered', counted });
      load.nextTrialAtMs = nowMs() + Math.max(LEAST_TRIAL_PAUSE_MS, TRIAL_PAUSE_FACTOR * (nowMs() - sentAtMs));
      if (!hasBegun || completionTokens < MIN_PACED_TOKENS) load.pace = new EnginePace();
    },
  });
}
