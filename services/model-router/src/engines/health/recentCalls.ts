import { lowerMedian } from '../../placement/lowerMedian.ts';

const WINDOW_MS = 30_000;
const MAX_CALLERS = 256;
const MAX_WAITS = 32;

/** What an engine's latest calls came to. */
export interface CallSummary {
  /** Callers heard in the last 30 s, each of whom has one vote. */
  callers: number;
  /** Part of them, 0 to 1, whose latest call the engine failed. */
  failedShare: number;
  /** First events in the last 30 s, the latest 32 at most. */
  waits: number;
  /** The median wait for a first event; undefined where there was none. */
  waitMs: number | undefined;
}

/** The last 30 s of an engine. A caller counts once, however many calls it makes, so that none can outvote the others. */
export class RecentCalls {
  readonly #nowMs: () => number;
  /** Longest unheard first. A Map keeps the order of insertion. */
  readonly #votes = new Map<string, { atMs: number; hasFailed: boolean }>();
  readonly #waits: { atMs: number; waitMs: number }[] = [];

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  ended(caller: string, hasFailed: boolean): void {
    this.#votes.delete(caller);
    this.#votes.set(caller, { atMs: this.#nowMs(), hasFailed });
    const [oldest] = this.#votes.keys();
    if (this.#votes.size > MAX_CALLERS && oldest !== undefined) this.#votes.delete(oldest);
  }

  firstEvent(waitMs: number): void {
    this.#waits.push({ atMs: this.#nowMs(), waitMs });
    if (this.#waits.length > MAX_WAITS) this.#waits.shift();
  }

  summarize(): CallSummary {
    const since = this.#nowMs() - WINDOW_MS;
    const votes = [...this.#votes.values()].filter(({ atMs }) => atMs > since);
    const waits = this.#waits.filter(({ atMs }) => atMs > since).map(({ waitMs }) => waitMs);
    const failed = votes.filter(({ hasFailed }) => hasFailed).length;
    return {
      callers: votes.length,
      failedShare: votes.length === 0 ? 0 : failed / votes.length,
      waits: waits.length,
      waitMs: lowerMedian(waits),
    };
  }

  clear(): void {
    this.#votes.clear();
    this.#waits.length = 0;
  }
}
