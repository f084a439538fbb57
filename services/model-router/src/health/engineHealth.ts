import {
  DOUBTS_TO_SUSPEND,
  FAILED_SHARE_ABOVE,
  FIRST_PAUSE_MS,
  LONGEST_PAUSE_MS,
  MAX_FAILURES,
  MAX_MISSED_CHECKS,
  MAX_RETRY_SHARE,
  MAX_VOTES,
  MIN_FAILED_WORKSPACES,
  MIN_RETRIES,
  MIN_VOTES,
  RETRY_WINDOW_SECONDS,
  TRUSTED_AFTER_MS,
  VOTES_WINDOW_MS,
} from './limits.ts';

/**
 * The health of an engine.
 * - `in`: it takes calls.
 * - `doubted`: there is a sign against it, so it has to produce a token. It takes calls until there are too many signs.
 * - `out`: it takes no call until it has produced a token, also at the start.
 */
export type HealthState = 'in' | 'doubted' | 'out';

/**
 * The result of a probe.
 * - `token`: the engine works.
 * - `busy`: it reported to be full, or about to stop.
 * - `silent`: it did not answer in time.
 * - `failed`: it answered something else, or broke off.
 */
export type ProbeResult = 'token' | 'busy' | 'silent' | 'failed';

/** Why an engine is left out. */
export type OutReason = 'refused' | 'unwell' | 'asleep' | 'unreachable' | 'no_token' | 'failed_calls' | 'fails_more';

/** Reasons reported by the engine or its host. All others are suspicion, which may be this router's own trouble. */
const FACTS: ReadonlySet<OutReason> = new Set(['refused', 'unwell', 'asleep']);
/** Reasons of absence. A return is seen without a probe, so the pause does not grow. */
const AWAY: ReadonlySet<OutReason> = new Set([...FACTS, 'unreachable']);

/** Whether a reason is a fact. A fact may leave a model without engines; suspicion may not. */
export const isFact = (reason: OutReason): boolean => FACTS.has(reason);

/**
 * Whether one engine may have calls, as a state machine (table in docs/placement.md). State `out` has a circuit
 * breaker: after a pause one probe decides (half-open). The pause begins at 1 s and doubles up to 60 s. A random fifth
 * more or less keeps routers from returning together.
 */
export class EngineHealth {
  /** Results of its latest calls, for comparison with other engines. */
  readonly recent: RecentCalls;
  readonly #nowMs: () => number;
  readonly #random: () => number;
  #state: HealthState = 'out';
  #outReason: OutReason | undefined;
  #isReachable = false;
  #missedChecks = 0;
  /** Half-open: a probe is in progress that decides. */
  #isHalfOpen = false;
  #pauseMs = FIRST_PAUSE_MS;
  #dueAtMs = Number.NEGATIVE_INFINITY;
  #inSinceMs = Number.POSITIVE_INFINITY;
  #probedAtMs = Number.NEGATIVE_INFINITY;
  /** Doubts since its last token. */
  #doubts = 0;
  #isSuspended = false;
  #doubtedAtMs = Number.NEGATIVE_INFINITY;
  /** True from a fact until its next token. */
  #isGone = false;
  /** True from `keep` until its next token. */
  #isLastResort = false;
  /** Calls that failed with none completed between, and whose. */
  #failures = 0;
  readonly #failedWorkspaces = new Set<string>();

  constructor({ nowMs, random }: { nowMs: () => number; random: () => number }) {
    this.#nowMs = nowMs;
    this.#random = random;
    this.recent = new RecentCalls(nowMs);
  }

  get state(): HealthState {
    return this.#state;
  }

  get takesCalls(): boolean {
    return this.#state === 'in' || (this.#state === 'doubted' && !this.#isSuspended);
  }

  /** The state of the circuit breaker. */
  get breaker(): 'closed' | 'half_open' | 'open' {
    if (this.#state !== 'out') return 'closed';
    return this.#isHalfOpen ? 'half_open' : 'open';
  }

  /** Why it was left out last; undefined if it never was. */
  get outReason(): OutReason | undefined {
    return this.#outReason;
  }

  /** Whether it is kept as the last engine of its model, and has produced no token since. */
  get isLastResort(): boolean {
    return this.#isLastResort;
  }

  /** Whether it has not answered its last check. */
  get hasMissedCheck(): boolean {
    return this.#missedChecks > 0;
  }

  /** Whether it answers checks. */
  get isReachable(): boolean {
    return this.#isReachable;
  }

  /** End of its last probe. */
  get probedAtMs(): number {
    return this.#probedAtMs;
  }

  /** Time of the last sign against it. */
  get doubtedAtMs(): number {
    return this.#doubtedAtMs;
  }

  /** Whether suspicion alone keeps it from taking calls. It has produced a token before. */
  get isSuspect(): boolean {
    return !this.takesCalls && !this.#isGone && (this.#state === 'doubted' || this.#outReason !== undefined);
  }

  /** Whether the pause before a probe is over. */
  get isDue(): boolean {
    return this.#state === 'out' && !this.#isHalfOpen && this.#nowMs() >= this.#dueAtMs;
  }

  /** Notes that it answered a check. */
  checked(): void {
    this.#isReachable = true;
    this.#missedChecks = 0;
  }

  /** Notes a missed check. Returns true if it has missed too many. */
  missedCheck(): boolean {
    this.#missedChecks += 1;
    return this.#missedChecks >= MAX_MISSED_CHECKS;
  }

  /** Leaves the engine out. Returns false if it was out already. A probe in progress then decides nothing. */
  leaveOut(reason: OutReason): boolean {
    const isAway = AWAY.has(reason);
    if (isAway) this.#isReachable = false;
    if (FACTS.has(reason)) this.#isGone = true;
    const wasIn = this.#state !== 'out';
    if (!wasIn && !this.#isHalfOpen) return false;
    this.#pause({ isAway });
    if (!wasIn) return false;
    this.#state = 'out';
    this.#outReason = reason;
    this.#doubtedAtMs = this.#nowMs();
    this.#isLastResort = false;
    this.recent.clear();
    this.#clearDoubts();
    this.#clearFailures();
    return true;
  }

  /** Keeps the engine in use, in doubt, as the last one of its model. Returns false if it was kept before. */
  keep(): boolean {
    const isNew = !this.#isLastResort;
    this.#isLastResort = true;
    this.#isHalfOpen = false;
    this.#state = 'doubted';
    this.#clearDoubts();
    return isNew;
  }

  #pause({ isAway }: { isAway: boolean }): void {
    this.#isHalfOpen = false;
    const nowMs = this.#nowMs();
    if (nowMs - this.#inSinceMs >= TRUSTED_AFTER_MS) this.#pauseMs = FIRST_PAUSE_MS;
    this.#inSinceMs = Number.POSITIVE_INFINITY;
    this.#dueAtMs = nowMs + (isAway ? FIRST_PAUSE_MS : this.#pauseMs) * (0.8 + 0.4 * this.#random());
    if (!isAway) this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  /**
   * Returns whether the engine has to produce a token now: it is out and due, in doubt, or stalled. `isStalled`: it has
   * calls and sends nothing.
   */
  beginProbe({ isStalled }: { isStalled: boolean }): boolean {
    if (this.isDue) {
      this.#isHalfOpen = true;
      return true;
    }
    return this.#state === 'doubted' || (this.#state === 'in' && isStalled);
  }

  /** Notes the result of a probe. Does nothing if the engine was ejected meanwhile. */
  endProbe(result: ProbeResult): void {
    this.#probedAtMs = this.#nowMs();
    if (this.#state === 'out') {
      if (!this.#isHalfOpen) return;
      if (result !== 'token') {
        this.#pause({ isAway: false });
        return;
      }
      this.#isHalfOpen = false;
      this.#inSinceMs = this.#probedAtMs;
    }
    if (result === 'token') this.#isGone = false;
    if (result === 'token' || result === 'busy') this.#isLastResort = false;
    this.#clearDoubts();
    this.#state = 'in';
  }

  /**
   * Notes a failed call. Returns true if the engine has to be left out, as far as others remain. `maySuspend` returns
   * whether the engine may get no more calls.
   */
  failed(workspaceId: string, maySuspend: () => boolean): boolean {
    this.recent.ended(workspaceId, true);
    this.#failures += 1;
    if (this.#failedWorkspaces.size < MIN_FAILED_WORKSPACES) this.#failedWorkspaces.add(workspaceId);
    this.doubt(maySuspend);
    return this.#failures >= MAX_FAILURES && this.#failedWorkspaces.size >= MIN_FAILED_WORKSPACES;
  }

  /** Notes a sign against the engine. */
  doubt(maySuspend: () => boolean): void {
    if (this.#state === 'out') return;
    this.#state = 'doubted';
    this.#doubtedAtMs = this.#nowMs();
    this.#doubts += 1;
    if (this.#doubts >= DOUBTS_TO_SUSPEND && maySuspend()) this.#isSuspended = true;
  }

  completed(workspaceId: string): void {
    this.recent.ended(workspaceId, false);
    if (this.#failures > 0) this.#clearFailures();
  }

  #clearDoubts(): void {
    this.#doubts = 0;
    this.#isSuspended = false;
  }

  #clearFailures(): void {
    this.#failures = 0;
    this.#failedWorkspaces.clear();
  }
}

/**
 * Returns the median, of an even number of values the lower of the two in the middle. Returns undefined without values.
 */
export const lowerMedian = (values: readonly number[]): number | undefined =>
  Float64Array.from(values).sort()[Math.floor((values.length - 1) / 2)];

/** A summary of an engine's latest calls. */
interface CallSummary {
  /** Workspaces with a call in the last 30 s. Each has one vote. */
  workspaces: number;
  /** Part of the workspaces, 0 to 1, whose last call the engine failed. */
  failedShare: number;
}

/**
 * The calls of an engine in the last 30 s. Each workspace has one vote for any number of calls, so that none can
 * outvote the others.
 */
export class RecentCalls {
  readonly #nowMs: () => number;
  /** Votes by workspace, the oldest first. A Map keeps the order of insertion. */
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
 * Finds outliers: engines of one model that fail far more of their workspaces than the median of them all, worst first.
 * The lower median is used, so that of two engines the better one is the measure. A single engine is never an outlier.
 * Slow engines are found by `findSlow` of placement, which knows the work of each.
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
 * Returns whether one more engine of a model may be left out on suspicion. Half of them, and one that takes calls, have
 * to remain. `fleet` is every engine of the model, the suspect included.
 */
export function mayLeaveOut<Engine extends { readonly isHealthy: boolean }>(
  suspect: Engine,
  fleet: readonly Engine[],
): boolean {
  const remaining = fleet.filter((engine) => engine !== suspect && engine.isHealthy).length;
  return remaining > 0 && remaining * 2 >= fleet.length;
}

/** The budget of retries: one in ten calls of the last 30 s, and at least ten. */
export class RetryBudget {
  readonly #nowMs: () => number;
  /** One slot for each second of the window, used in turn. */
  readonly #slots = Array.from({ length: RETRY_WINDOW_SECONDS }, () => ({ second: -1, calls: 0, retries: 0 }));

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  callBegan(): void {
    this.#slot().calls += 1;
  }

  /** Takes one retry. Returns false if none is left. */
  take(): boolean {
    if (this.left < 1) return false;
    this.#slot().retries += 1;
    return true;
  }

  /** Retries left now. */
  get left(): number {
    const oldest = Math.floor(this.#nowMs() / 1_000) - RETRY_WINDOW_SECONDS;
    let calls = 0;
    let retries = 0;
    for (const slot of this.#slots) {
      if (slot.second <= oldest) continue;
      calls += slot.calls;
      retries += slot.retries;
    }
    return Math.max(MIN_RETRIES, Math.floor(calls * MAX_RETRY_SHARE)) - retries;
  }

  #slot() {
    const second = Math.floor(this.#nowMs() / 1_000);
    const slot = this.#slots[second % RETRY_WINDOW_SECONDS];
    if (!slot) throw new Error('the clock of the retry budget runs below zero');
    if (slot.second !== second) Object.assign(slot, { second, calls: 0, retries: 0 });
    return slot;
  }
}
