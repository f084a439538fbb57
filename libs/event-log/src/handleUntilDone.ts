import { pause } from '@turnpike/lifecycle/pause';
import { backoffMs } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import { BACKOFF, type ConsumeOptions, type RecordBatch } from './eventLog.ts';

export interface HandleUntilDoneOptions extends ConsumeOptions {
  log: Logger;
  /** Fires when the reader stops. */
  signal: AbortSignal;
}

/** The end of a batch's turn. */
export interface Turn {
  /** The reader's position: behind the batch, where another reader has moved to meanwhile, or where it was. */
  position: bigint;
  /** Whether this reader has handled the batch. */
  isHandled: boolean;
}

/** A batch that fails is left for a while after so many attempts, or after an attempt that ends so late: others have their turn. */
const TURN = { attempts: 3, ms: 5_000 };

/**
 * Hands over a batch until it is handled, another reader has handled it, or this reader's turn is over. In the last
 * case the batch has to be read anew from the log. Resolves with undefined if `signal` fires first.
 */
export async function handleUntilDone(
  batch: RecordBatch,
  { topic, handle, nextOffset, log, signal }: HandleUntilDoneOptions,
): Promise<Turn | undefined> {
  const { partition, fromOffset } = batch;
  const startedAt = performance.now();
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      await handle(batch);
      return { position: batch.nextOffset, isHandled: true };
    } catch (error) {
      const position = await nextOffset(partition).catch(() => fromOffset);
      if (position !== fromOffset) return { position, isHandled: false };
      log.warn(
        { err: error, topic, partition, offset: String(fromOffset), attempt },
        'batch not handled, trying again',
      );
      const isOver = attempt + 1 >= TURN.attempts || performance.now() - startedAt >= TURN.ms;
      if (isOver) return { position, isHandled: false };
    }
    await pause(backoffMs(attempt, BACKOFF), signal);
  }
  return undefined;
}
