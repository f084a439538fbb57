import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { Redis } from 'ioredis';
import { defineAddTaken } from './addTaken.ts';
import { connectServer } from './connectServer.ts';
import type { Taken, Throttle } from './createThrottle.ts';

/** From the end of an exchange to the next, and the longest that one takes. */
const EXCHANGE_PAUSE_MS = 250;
const EXCHANGE_TIMEOUT_MS = 250;

export interface ShareOptions {
  /** Addresses of one Redis, or of some nodes of a cluster. */
  urls: string[];
  log: Logger;
  meter: Telemetry['meter'];
}

/**
 * Applies throttles of one name to all processes of a service together, within the error that the README states. Redis
 * adds up what each process lets through, and each process reads the sum. No request waits for Redis. While Redis is
 * down or slow, each process counts alone, and the excess is not made up for.
 */
export function shareThrottles(
  throttles: Record<string, Throttle>,
  { urls, log, meter }: ShareOptions,
): { close(): Promise<void> } {
  const countExchange = createExchangeCounter(meter);
  const { redis, doubt } = connectServer(urls, EXCHANGE_TIMEOUT_MS);
  const addTaken = defineAddTaken(redis);
  let isAlone = false;

  async function exchange(): Promise<void> {
    // Told once, whether it arrives or not: what is told again may have arrived before.
    const told = Object.entries(throttles).map(([name, throttle]) => ({ ...throttle, name, taken: throttle.tell() }));
    const due = told.filter(({ taken }) => taken.length > 0);
    if (due.length === 0 && !isAlone) return;
    try {
      const clockAheadMs = (await readTimeMs(redis)) - performance.now();
      await Promise.all(
        due.map(async (throttle) => {
          const used = await addTaken(throttle, clockAheadMs);
          for (const [nth, usedMs] of used.entries()) throttle.hear(throttle.taken[nth] as Taken, usedMs);
        }),
      );
      countExchange('done');
      isAlone = false;
    } catch (error) {
      countExchange('failed');
      isAlone = true;
      doubt(error);
      throw error;
    }
  }

  const exchanging = repeat(exchange, {
    pauseMs: EXCHANGE_PAUSE_MS,
    pausesFirst: true,
    log,
    failing: 'limits are not shared: each replica lets through as many requests as all may together',
    level: 'error',
  });
  return {
    async close() {
      await exchanging.close();
      redis.disconnect();
    },
  };
}

/** Counts exchanges by how they ended. */
export function createExchangeCounter(meter: Telemetry['meter']): (outcome: 'done' | 'failed') => void {
  const exchanges = meter.createCounter('turnpike_throttle_exchanges_total', {
    description:
      'Exchanges of limits with other replicas, by outcome; where they fail, each replica keeps them by itself.',
  });
  return (outcome) => exchanges.add(1, { outcome });
}

async function readTimeMs(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Number(micros) / 1_000;
}
