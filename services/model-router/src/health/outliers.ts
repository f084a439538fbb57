import { FAILED_SHARE_ABOVE, MAX_VOTES, MIN_VOTES, VOTES_WINDOW_MS } from './limits.ts';

/** The median; of an even number of values the lower of the two in the middle. Undefined where there are none. */
export const lowerMedian = (values: readonly number[]): number | undefined =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)];

/** A summary of an engine's latest calls. */
export interface CallSummary {
  /** Callers heard in the last 30 s, each of whom has one vote. */
  workspaces: number;
  /** Part of them, 0 to 1, whose latest call the engine failed. */
  failedShare: number;
}

/** The last 30 s of an engine. A workspace counts once, however many calls it makes, so that none can outvote the others. */
export class RecentCalls {
  readonly #nowMs: () => number;
  /** Longest unheard first. A Map keeps the order of insertion. */
  readonly #votes = new Map<string, { atMs: number; hasFailed: boolean }>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  ended(workspaceId: string, hasFailed: boolean): void {
    this.#votes.delete(workspaceId);
    this.#votes.set(workspaceId, { atMs: this.#nowMs(), hasFailed });
    const [oldest] = this.#votes.keys();
    if (this.#votes.size > MAX_VOTES && oldest !== undefined) this.#votes.delete(oldest);
  }

  summarize(): CallSummary {
    const since = this.#nowMs() - VOTES_WINDOW_MS;
    const votes = [...this.#votes.values()].filter(({ atMs }) => atMs > since);
    const failed = votes.filter(({ hasFailed }) => hasFailed).length;
    return { workspaces: votes.length, failedShare: votes.length === 0 ? 0 : failed / votes.length };
  }

  clear(): void {
    this.#votes.clear();
  }
}

/**
 * Outlier detection: the engines of one model that fail far more of their workspaces than the median of them all, worst first.
 * The lower median, so that of two engines the better one sets the measure; an engine alone never stands out. One that is only
 * slow does not either: placement finds it, which knows how much each of them has to do (findSlow).
 */
export function findOutliers<Engine>(fleet: readonly { engine: Engine; summary: CallSummary }[]): Engine[] {
  const voting = fleet.filter(({ summary }) => summary.workspaces >= MIN_VOTES);
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
