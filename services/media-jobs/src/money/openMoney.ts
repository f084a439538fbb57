import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { EndedCall } from '@turnpike/holds/call/pendingCalls';
import { CallBook, reportCallEnd } from '@turnpike/holds/call/pendingCalls';
import { type HoldsSettings, type OpenedHolds, openHolds } from '@turnpike/holds/openHolds';
import type { ServiceBase } from '@turnpike/http-service/startService';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';

/** Holds, charges and their way to the ledger. */
export interface Money extends OpenedHolds {
  /** Calls that are answered as they run. A job is in its row instead. */
  callBook: CallBook;
  /**
   * Ends a job's hold by the event that its row has, which is counted once it is safe. Any number of times: the call counts once. False
   * when neither disk nor Redis could keep the event.
   */
  settleJob(ended: EndedCall & { event: UsageRecorded }): Promise<boolean>;
}

/** Opens the parts of holds, and the book of calls in progress. */
export async function openMoney(base: ServiceBase<HoldsSettings>, metrics: InferenceMetrics): Promise<Money> {
  const opened = await openHolds(base, { ...metrics, service: 'media-jobs' });
  const { holds, spool, shards, isOpen } = opened;
  const { log } = base;
  const callBook = new CallBook({ holds, metrics, log });
  metrics.observe({
    isOpen,
    openCalls: () => callBook.size,
    spoolBytes: () => spool.bytes,
    spoolWaitingBytes: () => spool.waitingBytes,
    isSpoolHung: () => spool.isHung,
    isSpoolRefused: () => spool.isRefused,
    spoolLimitBytes: base.config.SPOOL_MAX_BYTES,
    redisMemoryShare: () => Math.max(0, ...shards.all.map(({ sessionState }) => sessionState.memoryShare)),
  });
  return {
    ...opened,
    callBook,
    async settleJob(ended) {
      const isSafe = await holds.settle(ended);
      if (isSafe) reportCallEnd(ended.event, { metrics, log });
      return isSafe;
    },
  };
}
