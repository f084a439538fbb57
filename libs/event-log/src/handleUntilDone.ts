import type { Logger } from '@turnpike/logging/createLogger';
import { backoffMs } from './backoff.ts';
import type { ConsumeOptions, RecordBatch } from './eventLog.ts';
import { pause } from './pause.ts';

export interface HandleUntilDoneOptions extends ConsumeOptions {
  log: Logger;
  /** Fires when the reader stops or no longer owns the partition. */
  signal: AbortSignal;
}

/**
 * Hands over a batch until it is handled. Resolves with where the reader stands then: behind the batch, or where another
 * reader has moved to meanwhile; undefined when `signal` fired first.
 */
export async function handleUntilDone(
  batch: RecordBatch,
  { topic, handle, nextOffset, log, signal }: HandleUntilDoneOptions,
): Promise<bigint | undefined> {
  const { partition, fromOffset } = batch;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      await handle(batch);
      return batch.nextOffset;
    } catch (error) {
      log.warn(
        { err: error, topic, partition, offset: String(fromOffset), attempt },
        'batch not handled, trying again',
      );
    }
    await pause(backoffMs(attempt), signal);
    const position = await nextOffset(partition).catch(() => fromOffset);
    if (position !== fromOffset) return position;
  }
  return undefined;
}
