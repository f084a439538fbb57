import type { Logger } from './createLogger.ts';

/** Failures of an episode that have a line each. */
const WHOLE_LINES = 5;
/** Interval of the counts, and the time without a failure after which an episode is over. */
const INTERVAL_MS = 10_000;

export interface EpisodeWords {
  goesOn: string;
  isOver: string;
}

/** One thing that fails again and again. */
interface Episode {
  beganAtMs: number;
  failures: number;
  /** Failures since the last count. */
  recent: number;
  timer: NodeJS.Timeout;
}

/**
 * Bounds the lines about a failure that every request meets while a dependency is away. The first five failures of an episode have a line
 * each. A count follows every 10 s, and one line once no failure has come for that long.
 */
export class EpisodeLog {
  readonly #log: Logger;
  readonly #words: EpisodeWords;
  readonly #episodes = new Map<string, Episode>();

  constructor(log: Logger, words: EpisodeWords) {
    this.#log = log;
    this.#words = words;
  }

  /**
   * Counts a failure, and calls `write` if it has a line of its own. `about` names the failure, one of a bounded number. `facts` and
   * `level` are those of the counts.
   */
  note(
    about: string,
    { facts, level, write }: { facts: object; level: 'info' | 'warn' | 'error'; write: () => void },
  ): void {
    const episode = this.#episodes.get(about) ?? this.#begin(about, { facts, level });
    episode.failures += 1;
    episode.recent += 1;
    if (episode.failures <= WHOLE_LINES) write();
  }

  #begin(about: string, { facts, level }: { facts: object; level: 'info' | 'warn' | 'error' }): Episode {
    const timer = setInterval(() => this.#look(about, { facts, level }), INTERVAL_MS).unref();
    const episode = { beganAtMs: performance.now(), failures: 0, recent: 0, timer };
    this.#episodes.set(about, episode);
    return episode;
  }

  #look(about: string, { facts, level }: { facts: object; level: 'info' | 'warn' | 'error' }): void {
    const episode = this.#episodes.get(about);
    if (!episode) return;
    const { failures, recent, timer } = episode;
    // A few failures had a line each, so there is nothing to add up.
    const isCounted = failures > WHOLE_LINES;
    const seconds = Math.round((performance.now() - episode.beganAtMs) / 1_000);
    if (recent > 0) {
      if (isCounted) this.#log[level]({ ...facts, failures: recent, inAll: failures, seconds }, this.#words.goesOn);
      episode.recent = 0;
      return;
    }
    clearInterval(timer);
    this.#episodes.delete(about);
    if (isCounted) this.#log.info({ ...facts, failures, seconds }, this.#words.isOver);
  }
}
