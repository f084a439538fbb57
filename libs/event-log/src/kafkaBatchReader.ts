import type { Logger } from '@turnpike/logging/createLogger';
import type { Consumer, EachBatchPayload } from 'kafkajs';
import { createPartitionShare, type TopicState } from './createPartitionShare.ts';
import type { ConsumeOptions, RecordBatch } from './eventLog.ts';
import { handleUntilDone } from './handleUntilDone.ts';

/** Well below the session timeout, so that a slow batch is not called off for its slowness. */
const HEARTBEAT_MS = 3_000;
/** How long a partition is left to another reader, or to itself where its batch fails, before it is fetched again. */
const STAND_BY_MS = 1_000;

export interface BatchReaderOptions extends ConsumeOptions {
  readerId: string;
  consumer: Consumer;
  log: Logger;
  /** Fires when the reader stops. */
  signal: AbortSignal;
}

interface Position {
  offset: bigint;
  /** Whether kafkajs was told to read from here. Before, it starts at the oldest record, since it knows no offsets. */
  hasSought: boolean;
}

export interface BatchReader {
  readBatch(payload: EachBatchPayload): Promise<void>;
  /**
   * Seeks to the positions in the handler's database for those partitions that are in the reader's share, because
   * another reader may have advanced. Call it as soon as Kafka has assigned partitions, before any is fetched. A log
   * that was created anew is then noticed while it is still shorter than the position.
   */
  begin(partitions: number[]): Promise<void>;
  /** Fetches this reader's share of the assigned partitions from now on, and no other. */
  share(state: TopicState): void;
  /** How many partitions are its own. */
  partitions(): number;
  /** Goes to where the handler's database says by now: nothing new need come for what was read before to be read again. */
  goBack(): Promise<void>;
  close(): void;
}

/** Turns what kafkajs fetches into batches that begin exactly where the handler's database says. */
export function createBatchReader(options: BatchReaderOptions): BatchReader {
  const { topic, readerId, nextOffset, consumer, log, signal } = options;
  const fetched = createPartitionShare(readerId);
  let assigned: number[] = [];
  let positions = new Map<number, Position>();
  const standingBy = new Set<NodeJS.Timeout>();
  let isClosed = false;

  async function findPosition(partition: number): Promise<Position> {
    return positions.get(partition) ?? { offset: await nextOffset(partition), hasSought: false };
  }

  function seek(partition: number, offset: bigint): void {
    positions.set(partition, { offset, hasSought: true });
    consumer.seek({ topic, partition, offset: String(offset) });
  }

  /** A consumer throws once it has crashed, which it tells of a moment later: the next one begins anew. */
  function unlessCrashed(command: () => void): void {
    try {
      command();
    } catch (error) {
      log.debug({ err: error, topic }, 'the consumer has crashed');
    }
  }

  const pause = (partitions: number[]): void => consumer.pause([{ topic, partitions }]);

  /**
   * Pauses a partition whose batch another reader has handled, or whose batch fails. Until that batch ends, kafkajs
   * fetches nothing more from its broker. A partition in this reader's share is fetched again a second later.
   */
  function standBy(partition: number): void {
    if (isClosed) return;
    pause([partition]);
    fetched.leave(partition);
    if (!fetched.has(partition)) return;
    const timer = setTimeout(() => {
      standingBy.delete(timer);
      if (!fetched.has(partition)) return;
      // Asked anew: the other one has moved on.
      positions.delete(partition);
      unlessCrashed(() => consumer.resume([{ topic, partitions: [partition] }]));
    }, STAND_BY_MS);
    standingBy.add(timer);
  }

  async function readBatch(payload: EachBatchPayload): Promise<void> {
    const { partition } = payload.batch;
    // Fetched before it was given up.
    if (!fetched.has(partition)) return;
    const assignment = positions;
    const { offset: fromOffset, hasSought } = await findPosition(partition);
    const batch = toRecordBatch(payload, fromOffset);
    const firstOffset = batch.records[0]?.offset;
    if (payload.isStale() || !payload.isRunning() || assignment !== positions) return;
    positions.set(partition, { offset: fromOffset, hasSought });
    if (firstOffset !== fromOffset) {
      // Fetched before it was said where to read: a log that has the place gives nothing from before it.
      const isEarly = firstOffset !== undefined && firstOffset < fromOffset && highOf(payload) >= fromOffset;
      if (!hasSought || isEarly) return seek(partition, fromOffset);
      // Records were removed before they were read, or the log was made anew: the handler sees it by the batch. What the log does
      // hold is read; repeats do no harm.
    }
    const handled = await whileAlive(payload, (alive) =>
      handleUntilDone(batch, { ...options, signal: AbortSignal.any([signal, alive]) }),
    );
    if (handled === undefined || assignment !== positions) return;
    if (!handled.isHandled) return standBy(partition);
    positions.set(partition, { offset: handled.position, hasSought: true });
    payload.resolveOffset(payload.batch.lastOffset());
  }

  async function begin(partitions: number[]): Promise<void> {
    assigned = partitions;
    // A consumer that is ended while it joins tells of its assignment all the same.
    unlessCrashed(() => pause(partitions.filter((partition) => !fetched.has(partition))));
    await goBack();
  }

  async function goBack(): Promise<void> {
    const assignment = new Map<number, Position>();
    positions = assignment;
    for (const partition of assigned.filter(fetched.has)) {
      const offset = await nextOffset(partition).catch(() => undefined);
      if (isClosed || assignment !== positions) return;
      // The database may be away: the first batch then asks for its position again.
      if (offset !== undefined && !positions.has(partition)) unlessCrashed(() => seek(partition, offset));
    }
  }

  function share(state: TopicState): void {
    const before = new Set(assigned.filter(fetched.has));
    fetched.divide(assigned, state, performance.now());
    for (const partition of assigned) {
      if (before.has(partition) && !fetched.has(partition)) {
        pause([partition]);
        positions.delete(partition);
      }
      if (before.has(partition) || !fetched.has(partition)) continue;
      seek(partition, state.positions.get(partition) ?? 0n);
      consumer.resume([{ topic, partitions: [partition] }]);
    }
  }

  return {
    readBatch,
    begin,
    share: (state) => unlessCrashed(() => share(state)),
    partitions: fetched.size,
    goBack,
    close(): void {
      isClosed = true;
      for (const timer of standingBy) clearTimeout(timer);
    },
  };
}

function toRecordBatch({ batch }: EachBatchPayload, fromOffset: bigint): RecordBatch {
  const nextOffset = BigInt(batch.lastOffset()) + 1n;
  return {
    partition: batch.partition,
    fromOffset,
    records: batch.messages.map(({ offset, key, value }) => ({
      offset: BigInt(offset),
      key: key?.toString(),
      value: value ?? Buffer.alloc(0),
    })),
    nextOffset,
    isAtEnd: nextOffset >= BigInt(batch.highWatermark),
  };
}

/** The offset that the partition's next record will get. */
const highOf = ({ batch }: EachBatchPayload): bigint => BigInt(batch.highWatermark);

/** Works with a heartbeat beside it. When that fails, the broker has given this reader up, and the work is called off. */
async function whileAlive<T>({ heartbeat }: EachBatchPayload, work: (alive: AbortSignal) => Promise<T>): Promise<T> {
  const dead = new AbortController();
  const timer = setInterval(() => {
    heartbeat().catch((error: unknown) => dead.abort(error));
  }, HEARTBEAT_MS);
  try {
    const result = await work(dead.signal);
    if (result === undefined && dead.signal.aborted) throw dead.signal.reason;
    return result;
  } finally {
    clearInterval(timer);
  }
}
