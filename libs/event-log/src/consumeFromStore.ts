import { once } from 'node:events';
import type { Logger } from '@turnpike/logging/createLogger';
import { backoffMs } from './backoff.ts';
import type { ConsumeOptions, EventLogConsumer } from './eventLog.ts';
import type { EventLogStore } from './eventLogStore.ts';
import { handleUntilDone } from './handleUntilDone.ts';
import { pause } from './pause.ts';

/** The embedded log's one partition. No broker has it, so that offsets are not mixed up where a stack changes over to one. */
export const EMBEDDED_PARTITION = -1;
const RECORDS_PER_BATCH = 500;
/** How soon an append by another process is noticed. */
const POLL_MS = 500;

export interface ConsumeFromStoreOptions extends ConsumeOptions {
  store: EventLogStore;
  log: Logger;
}

/** Reads the embedded event log: woken by an append in this process, else by polling. */
export function consumeFromStore(options: ConsumeFromStoreOptions): EventLogConsumer {
  const { store, topic, nextOffset, log } = options;
  const stop = new AbortController();
  const reading = readUntilStopped(options, stop.signal);
  return {
    async lag() {
      const [endOffset, position] = await Promise.all([store.endOffset(topic), nextOffset(EMBEDDED_PARTITION)]);
      return endOffset > position ? endOffset - position : 0n;
    },
    async close() {
      log.debug({ topic }, 'stopping to read');
      stop.abort();
      await reading;
    },
  };
}

async function readUntilStopped(options: ConsumeFromStoreOptions, signal: AbortSignal): Promise<void> {
  const { topic, log } = options;
  let failures = 0;
  while (!signal.aborted) {
    try {
      await readOn(options, signal);
      failures = 0;
    } catch (error) {
      log.warn({ err: error, topic }, 'event log not read, trying again');
      await pause(backoffMs(failures), signal);
      failures += 1;
    }
  }
}

/** Reads to the end of the log, then waits until there may be more. */
async function readOn(options: ConsumeFromStoreOptions, signal: AbortSignal): Promise<void> {
  const { store, topic, nextOffset } = options;
  // Listened for before the log is read, so that an append in between is not missed.
  const wait = AbortSignal.any([signal, AbortSignal.timeout(POLL_MS)]);
  const appended = once(store.appends, topic, { signal: wait }).catch(() => {});
  let position: bigint | undefined = await nextOffset(EMBEDDED_PARTITION);
  while (position !== undefined && !signal.aborted) {
    const fromOffset: bigint = position;
    const records = await store.read(topic, { fromOffset, limit: RECORDS_PER_BATCH });
    const last = records.at(-1);
    if (!last) break;
    const isAtEnd = records.length < RECORDS_PER_BATCH;
    const batch = { partition: EMBEDDED_PARTITION, fromOffset, records, nextOffset: last.offset + 1n, isAtEnd };
    position = (await handleUntilDone(batch, { ...options, signal }))?.position;
  }
  await appended;
}
