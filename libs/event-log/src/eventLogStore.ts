import type { EventEmitter } from 'node:events';
import type { EventRecord, StoredRecord } from './eventLog.ts';

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
