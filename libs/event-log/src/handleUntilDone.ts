import { backoffMs } from '@turnpike/lifecycle/backoff';
import { pause } from '@turnpike/lifecycle/pause';
import type { Logger } from '@turnpike/logging/createLogger';
import { BACKOFF, type ConsumeOptions, type RecordBatch } from './eventLog.ts';

export interface HandleUntilDoneOptions extends ConsumeOptions {
  log: Logger;
  /** Fires when the reader stops. */
  signal: AbortSignal;
}

/** The reader's position after a batch: behind it, or where another reader has moved to meanwhile. */
export interface HandledBatch {
  position: bigint;
  isByOther: boolean;
}

/** Hands over a batch until it is handled, by whomever. Resolves with undefined when `signal` fired first. */
export async function handleUntilDone(
  batch: RecordBatch,
  { topic, handle, nextOffset, log, signal }: HandleUntilDoneOptions,
): Promise<HandledBatch | undefined> {
  const { partition, fromOffset } = batch;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      await handle(batch);
      return { position: batch.nextOffset, isByOther: false };
    } catch (error) {
      const position = await nextOffset(partition).catch(() => fromOffset);
      if (position !== fromOffset) return { position, isByOther: true };
      log.warn(
        { err: error, topic, partition, offset: String(fromOffset), attempt },
        'batch not handled, trying again',
      );
    }
    await pause(backoffMs(attempt, BACKOFF), signal);
  }
  return undefined;
}
