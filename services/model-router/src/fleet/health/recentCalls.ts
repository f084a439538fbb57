const WINDOW_MS = 30_000;
const MAX_CALLERS = 256;

/** What an engine's latest calls came to. */
export interface CallSummary {
  /** Callers heard in the last 30 s, each of whom has one vote. */
  callers: number;
  /** Part of them, 0 to 1, whose latest call the engine failed. */
  failedShare: number;
}

/** The last 30 s of an engine. A caller counts once, however many calls it makes, so that none can outvote the others. */
export class RecentCalls {
  readonly #nowMs: () => number;
  /** Longest unheard first. A Map keeps the order of insertion. */
  readonly #votes = new Map<string, { atMs: number; hasFailed: boolean }>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  ended(caller: string, hasFailed: boolean): void {
    this.#votes.delete(caller);
    this.#votes.set(caller, { atMs: this.#nowMs(), hasFailed });
    const [oldest] = this.#votes.keys();
    if (this.#votes.size > MAX_CALLERS && oldest !== undefined) this.#votes.delete(oldest);
  }

  summarize(): CallSummary {
    const since = this.#nowMs() - WINDOW_MS;
    const votes = [...this.#votes.values()].filter(({ atMs }) => atMs > since);
    const failed = votes.filter(({ hasFailed }) => hasFailed).length;
    return { callers: votes.length, failedShare: votes.length === 0 ? 0 : failed / votes.length };
  }

  clear(): void {
    this.#votes.clear();
  }
}
