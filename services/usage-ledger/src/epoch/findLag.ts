import { setTimeout as delay } from 'node:timers/promises';
import type { EventLogConsumer } from '@turnpike/event-log/eventLog';

/** The log may be down when it is asked; an answer does not wait longer for it. */
const LAG_TIMEOUT_MS = 600;

/** How many events are still to be read; undefined when the log does not say. */
export async function findLag(consumer: Pick<EventLogConsumer, 'lag'>): Promise<bigint | undefined> {
  const timeout = delay(LAG_TIMEOUT_MS, undefined, { ref: false });
  return Promise.race([consumer.lag().catch(() => undefined), timeout]);
}
