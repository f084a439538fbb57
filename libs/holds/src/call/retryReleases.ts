import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '@turnpike/logging/createLogger';
import type { CallAddress } from '../redis/redisKeys.ts';
import type { Standing } from '../redis/standing.ts';
import type { CallEndings } from './endCall.ts';

const PAUSE_MS = 100;
/** Calls that wait to be released. More than are under way when a connection breaks; beyond it, leases end the rest. */
const MAX_WAITING = 10_000;

interface Waiting {
  address: CallAddress;
  giveUpAt: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Endings whose `release` is tried again, one call after the other, until Redis has taken it: an admission whose answer was
 * lost with its connection may have been made, and its caller was refused. Rejects after `leaseMs`, as its hold has ended by
 * then, or when too many wait.
 */
export function retryReleases(endings: CallEndings, { leaseMs }: { leaseMs: number }): CallEndings {
  const waiting: Waiting[] = [];

  async function releaseUntilTaken({ address, giveUpAt }: Waiting): Promise<void> {
    for (;;) {
      try {
        return await endings.release(address);
      } catch (error) {
        if (performance.now() >= giveUpAt) throw error;
        await delay(PAUSE_MS, undefined, { ref: false });
      }
    }
  }

  async function releaseAll(): Promise<void> {
    for (let first = waiting[0]; first; first = waiting[0]) {
      await releaseUntilTaken(first).then(first.resolve, first.reject);
      waiting.shift();
    }
  }

  return {
    ...endings,
    async release(address) {
      try {
        await endings.release(address);
      } catch (error) {
        if (waiting.length >= MAX_WAITING) throw error;
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        waiting.push({ address, giveUpAt: performance.now() + leaseMs, resolve, reject });
        if (waiting.length === 1) void releaseAll();
        await promise;
      }
    },
  };
}

/** Makes `giveBack(address)`: releases a hold, or ends the session that it stands under, so that a sweeper finds it. Never rejects. */
export function createGiveBack({
  endings,
  standing,
  log,
}: {
  endings: Pick<CallEndings, 'release'>;
  standing: Pick<Standing, 'reportMissingCall'>;
  log: Logger;
}): (address: CallAddress) => Promise<void> {
  return async (address) => {
    try {
      await endings.release(address);
    } catch (error) {
      log.warn({ err: error, callId: address.callId }, 'hold could not be released; it ends with this session');
      standing.reportMissingCall();
    }
  };
}
