import { lowerMedian } from '../placement/lowerMedian.ts';
import type { CallSummary } from './recentCalls.ts';

/** Fewer callers than this are no vote. */
const MIN_CALLERS = 5;
/** An engine stands out that fails this much more of its callers, of 1, than the fleet's median does. */
const FAILED_SHARE_ABOVE = 0.3;

/**
 * The engines of one model that fail far more of their callers than the median of them all, worst first. The lower median, so
 * that of two engines the better one sets the measure; an engine alone never stands out. One that is only slow does not either:
 * placement finds it, which knows how much each of them has to do (findSlow).
 */
export function findOutliers<Engine>(fleet: readonly { engine: Engine; summary: CallSummary }[]): Engine[] {
  const voting = fleet.filter(({ summary }) => summary.callers >= MIN_CALLERS);
  const usualShare = lowerMedian(voting.map(({ summary }) => summary.failedShare)) ?? 0;
  return voting
    .filter(({ summary }) => summary.failedShare > usualShare + FAILED_SHARE_ABOVE)
    .toSorted((a, b) => b.summary.failedShare - a.summary.failedShare)
    .map(({ engine }) => engine);
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
