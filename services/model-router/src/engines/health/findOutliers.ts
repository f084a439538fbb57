import { lowerMedian } from '../../placement/lowerMedian.ts';
import type { CallSummary } from './recentCalls.ts';

/** Fewer first events than this say nothing of an engine's pace. */
const MIN_WAITS = 10;
/** An engine stands out that takes this many times as long as the fleet's median … */
const SLOW_FACTOR = 5;
/** … and this much longer: what nobody feels is no reason. */
const SLOW_MS = 500;
/** Fewer callers than this are no vote. */
const MIN_CALLERS = 5;
/** An engine stands out that fails this much more of its callers, of 1, than the fleet's median does. */
const FAILED_SHARE_ABOVE = 0.3;

/** Why an engine stands out. */
export type OutlierReason = 'slow_first_events' | 'fails_more';

/**
 * The engines of one model that do far worse than the median of them all, worst of its kind first, and why. The lower
 * median, so that of two engines the better one sets the measure; an engine alone never stands out.
 */
export function findOutliers<Engine>(
  fleet: readonly { engine: Engine; summary: CallSummary }[],
): { engine: Engine; reason: OutlierReason }[] {
  const voting = fleet.filter(({ summary }) => summary.callers >= MIN_CALLERS);
  const usualShare = lowerMedian(voting.map(({ summary }) => summary.failedShare)) ?? 0;
  const failing = voting
    .filter(({ summary }) => summary.failedShare > usualShare + FAILED_SHARE_ABOVE)
    .toSorted((a, b) => b.summary.failedShare - a.summary.failedShare)
    .map(({ engine }) => ({ engine, reason: 'fails_more' as const }));
  const paced = fleet
    .filter(({ summary }) => summary.waits >= MIN_WAITS)
    .map(({ engine, summary }) => ({ engine, waitMs: summary.waitMs ?? 0 }));
  const usualMs = lowerMedian(paced.map(({ waitMs }) => waitMs)) ?? 0;
  const slow = paced
    .filter(({ waitMs }) => waitMs > SLOW_FACTOR * usualMs && waitMs > usualMs + SLOW_MS)
    .toSorted((a, b) => b.waitMs - a.waitMs)
    .map(({ engine }) => ({ engine, reason: 'slow_first_events' as const }));
  return [...failing, ...slow];
}

/**
 * Whether one more engine of a model may be left out on suspicion: half of them at most are, and one that takes calls has
 * to remain. `fleet` is every engine of the model, the suspect included.
 */
export function mayLeaveOut<Engine extends { readonly isHealthy: boolean }>(
  suspect: Engine,
  fleet: readonly Engine[],
): boolean {
  const remaining = fleet.filter((engine) => engine !== suspect && engine.isHealthy).length;
  return remaining > 0 && remaining * 2 >= fleet.length;
}
