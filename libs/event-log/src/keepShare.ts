import { setTimeout as delay } from 'node:timers/promises';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { LagMeter } from './createLagMeter.ts';
import type { ReaderLeases } from './eventLog.ts';
import type { BatchReader } from './kafkaBatchReader.ts';

/** Well below the time that a lease runs, also where Kafka takes all the time that it has. */
const RENEW_EVERY_MS = 1_000;
const ENDS_TIMEOUT_MS = 1_500;

export interface KeepShareOptions {
  topic: string;
  readerId: string;
  leases: ReaderLeases;
  lag: Pick<LagMeter, 'endOffsets'>;
  log: Logger;
}

/**
 * Renews a reader's lease while Kafka answers it, and has it fetch its share of the topic. A reader without an answer
 * from Kafka does not renew, so that the others share without it. During an outage of the database the shares stay the
 * same, because no reader can record. Returns the function that stops renewing and ends the lease.
 */
export function keepShare(
  reader: Pick<BatchReader, 'share'>,
  { topic, readerId, leases, lag, log }: KeepShareOptions,
): () => Promise<void> {
  const renewing = repeat(
    async () => {
      const ends = await withinTime(lag.endOffsets(), ENDS_TIMEOUT_MS);
      reader.share({ ...(await leases.renew(readerId)), ends });
    },
    { pauseMs: RENEW_EVERY_MS, log, failing: `the lease on a share of topic ${topic} is not renewed, trying again` },
  );
  return async () => {
    await renewing.close();
    await leases.giveBack(readerId).catch((error: unknown) => log.debug({ err: error, topic }, 'lease not given back'));
  };
}

function withinTime<Answer>(work: Promise<Answer>, timeoutMs: number): Promise<Answer> {
  const passed = delay(timeoutMs, undefined, { ref: false });
  return Promise.race([work, passed.then(() => Promise.reject(new Error(`no answer within ${timeoutMs} ms`)))]);
}
