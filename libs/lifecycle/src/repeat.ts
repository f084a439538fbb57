import type { Logger } from '@turnpike/logging/createLogger';
import { pause } from './pause.ts';

export interface RepeatOptions {
  /** From the end of a run to the beginning of the next, in milliseconds; asked anew after each run. */
  pauseMs: number | (() => number);
  /** The pauses after failed runs instead. */
  backoff?: Backoff;
  /** Whether a pause comes before the first run too. */
  pausesFirst?: boolean;
  log: Logger;
  /** The line of the log for the first failure of an outage, and for its end: what does not work, and what holds meanwhile. */
  failing: string;
  /** How loud the first failure is. */
  level?: 'warn' | 'error';
}

/** Something that is done every so often. */
export interface Repetition {
  /**
   * Begins a run now, or when the current run has ended. Concurrent callers share it. Settles as that run does, and
   * rejects if no run begins any more.
   */
  now(): Promise<void>;
  /** No run begins any more, and the signal of the one under way fires. Resolves when that has ended. */
  close(): Promise<void>;
}

/**
 * Does something every so often, one run at a time, for as long as the process lives. A run that fails changes nothing: the
 * next one comes. `run` gets a signal that fires on close. Keeps no process alive.
 */
export function repeat(run: (signal: AbortSignal) => unknown, options: RepeatOptions): Repetition {
  const { pauseMs, backoff, pausesFirst = false, log, failing, level = 'warn' } = options;
  const closing = new AbortController();
  let failures = 0;
  let rest = new AbortController();
  let next = anOutcome();

  async function runOnce(): Promise<void> {
    // A caller from here on needs a run that begins after this one.
    const outcome = next;
    [rest, next] = [new AbortController(), anOutcome()];
    try {
      await run(closing.signal);
      if (failures > 0) log.info({ failures }, `over: ${failing}`);
      failures = 0;
      outcome.resolve();
    } catch (error) {
      if (failures === 0 && !closing.signal.aborted) log[level]({ err: error }, failing);
      failures += 1;
      outcome.reject(error);
    }
  }

  function restMs(): number {
    if (backoff && failures > 0) return backoffMs(failures - 1, backoff);
    return typeof pauseMs === 'number' ? pauseMs : pauseMs();
  }

  async function runOn(): Promise<void> {
    if (!pausesFirst) await runOnce();
    while (!closing.signal.aborted) {
      await pause(restMs(), rest.signal);
      if (!closing.signal.aborted) await runOnce();
    }
    next.reject(new Error('closed'));
  }

  const running = runOn();
  return {
    now() {
      rest.abort();
      return next.promise;
    },
    close() {
      closing.abort();
      rest.abort();
      return running;
    },
  };
}

/** The outcome of a run that nobody may be waiting for: its rejection is not unhandled. */
function anOutcome(): PromiseWithResolvers<void> {
  const outcome = Promise.withResolvers<void>();
  outcome.promise.catch(() => {});
  return outcome;
}

/** Pauses between attempts: the first, and the longest that they grow to. */
export interface Backoff {
  firstMs: number;
  longestMs: number;
}

/**
 * Returns the pause before another attempt, in ms: exponential backoff with jitter. The pause doubles with each
 * attempt, and is then shortened to between half and all of it. Processes that failed together therefore do not retry
 * together. `attempt` counts from 0.
 */
export function backoffMs(attempt: number, { firstMs, longestMs }: Backoff): number {
  return Math.min(firstMs * 2 ** attempt, longestMs) * (0.5 + Math.random() / 2);
}
