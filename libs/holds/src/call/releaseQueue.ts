import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import type { CallAddress } from '../redis/redisKeys.ts';

const PAUSE_MS = 100;
/** Calls that wait to be released. More than are under way when a connection breaks; beyond it, leases end the rest. */
const MAX_WAITING = 10_000;

export interface ReleaseQueueOptions {
  /** Tries once. */
  release(address: CallAddress): Promise<void>;
  /** Ends the session that a hold is under which could not be released, so that a sweeper finds the hold. */
  onGiveUp(): void;
  leaseMs: number;
  log: Logger;
}

/** Releases holds until Redis has taken each release: one call after the other while Redis is away. */
export class ReleaseQueue {
  readonly #options: ReleaseQueueOptions;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ReleaseQueueOptions) {
    this.#options = options;
  }

  /** Resolves once Redis has taken the release. Gives up after `leaseMs`, or when too many wait. Never rejects. */
  async release(address: CallAddress): Promise<void> {
    const { release, onGiveUp, log } = this.#options;
    try {
      await release(address).catch((error: unknown) => {
        if (this.#waiting >= MAX_WAITING) throw error;
        return this.#releaseInTurn(address);
      });
    } catch (error) {
      log.warn({ err: error, callId: address.callId }, 'hold could not be released; it ends with this session');
      onGiveUp();
    }
  }

  async #releaseInTurn(address: CallAddress): Promise<void> {
    const giveUpAt = performance.now() + this.#options.leaseMs;
    this.#waiting += 1;
    const release = this.#last
      .then(() => this.#releaseUntil(address, giveUpAt))
      .finally(() => {
        this.#waiting -= 1;
      });
    this.#last = release.catch(() => {});
    await release;
  }

  async #releaseUntil(address: CallAddress, giveUpAt: number): Promise<void> {
    for (;;) {
      try {
        return await this.#options.release(address);
      } catch (error) {
        if (performance.now() >= giveUpAt) throw error;
        await delay(PAUSE_MS, undefined, { ref: false });
      }
    }
  }
}
