import type { Knobs } from '../knobs.ts';
import type { Sequence } from './sequence.ts';

/** One step of an engine in the batch model: its work and its end. */
export interface BatchStep {
  endsMs: number;
  /** Prompt tokens computed in this step, by sequence. */
  prefill: ReadonlyMap<Sequence, number>;
}

/**
 * Returns the step that begins at `startsMs`: one token for every sequence with a computed prompt. The rest of the
 * token budget goes to prompts in the order of arrival, and the last one is cut at its end. Returns undefined if no
 * sequence has work then.
 */
export function planBatchStep(running: Iterable<Sequence>, knobs: Knobs, startsMs: number): BatchStep | undefined {
  const prefill = new Map<Sequence, number>();
  const prompts: Sequence[] = [];
  let runningCount = 0;
  let decoding = 0;
  for (const sequence of running) {
    runningCount += 1;
    if (sequence.schedule.prefillLeft > 0) prompts.push(sequence);
    else if (sequence.schedule.dueMs <= startsMs) decoding += 1;
  }
  let budget = knobs.maxNumBatchedTokens - decoding;
  let prefillTokens = 0;
  for (const sequence of prompts) {
    const chunk = Math.min(sequence.schedule.prefillLeft, budget);
    if (chunk <= 0) break;
    prefill.set(sequence, chunk);
    budget -= chunk;
    prefillTokens += chunk;
  }
  if (decoding === 0 && prefillTokens === 0) return undefined;
  const { stepMs, stepMsPerRunning, stepMsPerPrefillToken, slowFactor } = knobs;
  const lastsMs = (stepMs + stepMsPerRunning * runningCount + stepMsPerPrefillToken * prefillTokens) * slowFactor;
  return { endsMs: startsMs + lastsMs, prefill };
}
