import type { Logger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';

/** Lines of one fault in a second. What is beyond is counted in the next line: one key can be refused a thousand times a second. */
const LINES_PER_SECOND = 5;

/** The lines of refused and failed requests. An unforeseen error always has a line, because each may be another. */
export class FaultLog {
  readonly #nowMs: () => number;
  /** The lines of this second by fault; the set of faults is fixed. */
  readonly #counts = new Map<string, { second: number; lines: number; leftOut: number }>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Logs a failed request. A refusal by a key's own bound is `info` because an operator has nothing to do. */
  write(log: Logger, error: unknown, facts: { route: string; status: number }): void {
    if (!(error instanceof ApiError)) {
      log.error({ err: error, ...facts }, 'request failed');
      return;
    }
    const { kind } = error.fault;
    const second = Math.floor(this.#nowMs() / 1_000);
    const count = this.#counts.get(kind) ?? { second, lines: 0, leftOut: 0 };
    this.#counts.set(kind, count);
    if (count.second !== second) Object.assign(count, { second, lines: 0 });
    if (count.lines === LINES_PER_SECOND) {
      count.leftOut += 1;
      return;
    }
    count.lines += 1;
    const { leftOut } = count;
    count.leftOut = 0;
    const level = kind === 'key_bound_reached' ? 'info' : 'error';
    log[level]({ err: error, ...facts, ...(leftOut > 0 && { leftOut }) }, 'request failed');
  }
}
