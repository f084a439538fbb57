/** A record to append. Records of one key keep their order. */
export interface EventRecord {
  key: string;
  value: string;
}

/** Pauses before what failed at the event log, or in its handler, is tried again. */
export const BACKOFF = { firstMs: 100, longestMs: 5_000 };

/** Writes to the event log. */
export interface EventLogProducer {
  /**
   * Appends a batch. Resolves when the log has stored all of it durably. After a rejection the log may have any of the
   * records, so the caller sends the batch again and consumers expect repeats.
   */
  append(topic: string, records: EventRecord[]): Promise<void>;
  close(): Promise<void>;
}

/** A record as the log holds it. The value is handed over as bytes: what stands in a log may be anything. */
export interface StoredRecord {
  offset: bigint;
  key: string | undefined;
  value: Buffer;
}

/** Consecutive records of one partition. */
export interface RecordBatch {
  partition: number;
  /**
   * The reader's position before this batch: the last `nextOffset`. It differs from the first record's offset if the
   * log lost records. It is lower if unread records were removed, and higher if the log was created anew.
   */
  fromOffset: bigint;
  records: StoredRecord[];
  /** The reader's position once this batch is handled. */
  nextOffset: bigint;
  /** Whether nothing followed this batch when it was read. */
  isAtEnd: boolean;
}

export interface ConsumeOptions {
  topic: string;
  /** The offset to read next, from the database that `handle` writes to. Asked again after every change of assignment or share. */
  nextOffset: (partition: number) => Promise<bigint>;
  /**
   * Handles a batch and stores its `nextOffset`, both or neither. When it throws, the same batch comes again after a pause, and after a
   * few attempts it is read anew from the log. Nothing is skipped, unless `nextOffset` moved because another reader has handled it.
   */
  handle: (batch: RecordBatch) => Promise<void>;
}

/** A running reader of one topic. */
export interface EventLogConsumer {
  /** How many records the log holds that have not been handled. Rejects when the log does not answer within its deadline. */
  lag(): Promise<bigint>;
  /** The offset that the next record will get, of each partition that holds any. Rejects as `lag` does. */
  endOffsets(): Promise<Map<number, bigint>>;
  /** How many partitions are this reader's own by now; others read the rest. */
  partitions(): number;
  /** Reads on from where the handler's database says by now, after that may have been set back. */
  goBack(): Promise<void>;
  /** Stops reading, and resolves when the batch in progress has ended. */
  close(): Promise<void>;
}

/** The readers of a topic, and how far it is read, in one instant of the handler's database. */
export interface Readership {
  /** The ids of all whose lease runs, the one that asks among them, in an order that is the same for all. */
  readers: string[];
  /** The offset to read next of each partition of which anything was read. */
  positions: Map<number, bigint>;
}

/**
 * Leases of the readers of a topic, by which they share its partitions. The leases are in the handler's database and
 * run by its clock.
 */
export interface ReaderLeases {
  /** Extends this reader's lease by some seconds from now. */
  renew(readerId: string): Promise<Readership>;
  /** Ends this reader's lease: the others share without it as soon as they ask. */
  giveBack(readerId: string): Promise<void>;
}
