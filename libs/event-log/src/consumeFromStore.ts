import type { EventEmitter } from 'node:events';
import { once } from 'node:events';
import { pause } from '@turnpike/lifecycle/pause';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import {
  BACKOFF,
  type ConsumeOptions,
  type EventLogConsumer,
  type EventRecord,
  type StoredRecord,
} from './eventLog.ts';
import { handleUntilDone } from './handleUntilDone.ts';

/**
 * The store of the embedded event log: a table of the consuming service's own database. Offsets count from 0 without gaps
 * and become visible in their order, so a reader that follows them misses nothing.
 */
export interface EventLogStore {
  /** Appends a batch, all or nothing, and resolves when it is committed. */
  append(topic: string, records: EventRecord[]): Promise<void>;
  /** The records from an offset on, in order. */
  read(topic: string, range: { fromOffset: bigint; limit: number }): Promise<StoredRecord[]>;
  /** The offset that the next record will get. */
  endOffset(topic: string): Promise<bigint>;
  /** Emits the topic's name after an append in this process. */
  appends: EventEmitter;
}

/** The embedded log's one partition. No broker has it, so that offsets are not mixed up where a stack changes over to one. */
export const EMBEDDED_PARTITION = -1;
/** About what Kafka hands over at once, a MiB: the more there are, the less each takes of what a batch costs by itself. */
const RECORDS_PER_BATCH = 2_000;
/** How soon an append by another process is noticed. */
const POLL_MS = 1_000;
/** Time for which records are collected, because a transaction of many takes little more time than one of a few. */
const COLLECT_MS = 100;

export interface ConsumeFromStoreOptions extends ConsumeOptions {
  store: EventLogStore;
  log: Logger;
}

/** Reads the embedded event log: woken by an append in this process, else by polling. */
export function consumeFromStore(options: ConsumeFromStoreOptions): EventLogConsumer {
  const { store, topic, nextOffset, log } = options;
  // The reading itself waits for what is appended.
  const reading = repeat((signal) => readOn(options, signal), {
    pauseMs: 0,
    backoff: BACKOFF,
    log,
    failing: `topic ${topic} of the event log is not read, trying again`,
  });
  return {
    async lag() {
      const [endOffset, position] = await Promise.all([store.endOffset(topic), nextOffset(EMBEDDED_PARTITION)]);
      return endOffset > position ? endOffset - position : 0n;
    },
    async endOffsets() {
      const endOffset = await store.endOffset(topic);
      return new Map(endOffset > 0n ? [[EMBEDDED_PARTITION, endOffset]] : []);
    },
    partitions: () => 1,
    // The database is asked for the position whenever there may be more.
    async goBack() {},
    async close() {
      log.debug({ topic }, 'stopping to read');
      await reading.close();
    },
  };
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
    const handled = await handleUntilDone(batch, { ...options, signal });
    if (isAtEnd) break;
    position = handled?.position;
  }
  await appended;
  await pause(COLLECT_MS, signal);
}
