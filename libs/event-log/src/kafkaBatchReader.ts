import type { Logger } from '@turnpike/logging/createLogger';
import type { Consumer, EachBatchPayload } from 'kafkajs';
import type { ConsumeOptions, RecordBatch } from './eventLog.ts';
import { handleUntilDone } from './handleUntilDone.ts';

/** Well below the session timeout, so that a slow batch does not cost the reader its partitions. */
const HEARTBEAT_MS = 3_000;

export interface BatchReaderOptions extends ConsumeOptions {
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

/** Turns what kafkajs fetches into batches that begin exactly where the handler's database says. */
export function createBatchReader(options: BatchReaderOptions) {
  const { topic, nextOffset, consumer, log, signal } = options;
  let positions = new Map<number, Position>();

  async function findPosition(partition: number): Promise<Position> {
    return positions.get(partition) ?? { offset: await nextOffset(partition), hasSought: false };
  }

  function seek(partition: number, offset: bigint): void {
    positions.set(partition, { offset, hasSought: true });
    consumer.seek({ topic, partition, offset: String(offset) });
  }

  async function readBatch(payload: EachBatchPayload): Promise<void> {
    const { partition } = payload.batch;
    const assignment = positions;
    const { offset: fromOffset, hasSought } = await findPosition(partition);
    const batch = toRecordBatch(payload, fromOffset);
    const firstOffset = batch.records[0]?.offset;
    if (payload.isStale() || !payload.isRunning() || assignment !== positions) return;
    if (firstOffset !== fromOffset) {
      if (!hasSought) return seek(partition, fromOffset);
      // Records were removed before they were read, or the log was made anew. What it does hold is read; repeats do no harm.
      const expected = String(fromOffset);
      log.error({ topic, partition, expected, found: String(firstOffset) }, 'the event log lacks records');
    }
    const position = await whileAlive(payload, (alive) =>
      handleUntilDone(batch, { ...options, signal: AbortSignal.any([signal, alive]) }),
    );
    if (position === undefined || assignment !== positions) return;
    if (position !== batch.nextOffset) return seek(partition, position);
    positions.set(partition, { offset: position, hasSought: true });
    payload.resolveOffset(payload.batch.lastOffset());
  }

  return {
    readBatch,
    /** To be called after every change of assignment: another reader may have moved on in the meantime. */
    forgetPositions(): void {
      positions = new Map();
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

/** Works with a heartbeat beside it. When that fails, as it does once the group rebalances, the work is called off. */
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
