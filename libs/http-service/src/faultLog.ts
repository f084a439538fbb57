import type { Logger } from '@turnpike/logging/createLogger';
import { EpisodeLog } from '@turnpike/logging/episodeLog';
import { ApiError } from '@turnpike/public-api/apiError';

/** Refusals by a key's own bound, and of what an operator has switched off: an operator has nothing to do. */
const OF_POLICY: ReadonlySet<string> = new Set(['key_bound_reached', 'model_disabled']);

/** The lines of refused and failed requests. An unforeseen error always has a line, because each may be another. */
export class FaultLog {
  readonly #episodes: EpisodeLog;

  constructor(log: Logger) {
    this.#episodes = new EpisodeLog(log, {
      goesOn: 'requests are still refused',
      isOver: 'requests are refused no more',
    });
  }

  /** Logs a failed request to the log of the request. An episode of one fault has few lines. */
  write(log: Logger, error: unknown, facts: { route: string; status: number }): void {
    if (!(error instanceof ApiError)) {
      log.error({ err: error, ...facts }, 'request failed');
      return;
    }
    const { kind } = error.fault;
    const level = OF_POLICY.has(kind) ? 'info' : 'error';
    const write = (): void => log[level]({ err: error, ...facts }, 'request failed');
    this.#episodes.note(kind, { facts: { fault: kind }, level, write });
  }
}
