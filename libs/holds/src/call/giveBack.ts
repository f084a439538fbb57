import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import type { CallAddress } from '../redis/redisKeys.ts';
import type { Standing } from '../redis/standing.ts';
import type { CallEndings } from './endCall.ts';

const PAUSE_MS = 100;
/** Calls that wait to be released. More than are under way when a connection breaks; beyond it, leases end the rest. */
const MAX_WAITING = 10_000;

export interface GiveBackOptions {
  endings: Pick<CallEndings, 'release'>;
  standing: Pick<Standing, 'reportMissingCall'>;
  leaseMs: number;
  log: Logger;
}

/**
 * Makes `giveBack(address)`: releases a hold, because an admission whose answer was lost with its connection may have been made, and its
 * caller was refused. Until Redis has taken the release it is tried again, one call after the other. After `leaseMs`, or when too many
 * wait, it ends the session that the hold stands under, so that a sweeper finds the hold. Never rejects.
 */
export function createGiveBack({ endings, standing, leaseMs, log }: GiveBackOptions) {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  async function releaseUntil(address: CallAddress, giveUpAt: number): Promise<void> {
    for (;;) {
      try {
        return await endings.release(address);
      } catch (error) {
        if (performance.now() >= giveUpAt) throw error;
        await delay(PAUSE_MS, undefined, { ref: false });
      }
    }
  }

  async function releaseInTurn(address: CallAddress): Promise<void> {
    const giveUpAt = performance.now() + leaseMs;
    waiting += 1;
    const release = last.then(() => releaseUntil(address, giveUpAt)).finally(() => (waiting -= 1));
    last = release.catch(() => {});
    await release;
  }

  return async (address: CallAddress): Promise<void> => {
    try {
      await endings.release(address).catch((error: unknown) => {
        if (waiting >= MAX_WAITING) throw error;
        return releaseInTurn(address);
      });
    } catch (error) {
      log.warn({ err: error, callId: address.callId }, 'hold could not be released; it ends with this session');
      standing.reportMissingCall();
    }
  };
}
