import { type HoldsSettings, type OpenedHolds, openHolds } from '@turnpike/holds/openHolds';
import type { ServiceBase } from '@turnpike/http-service/startService';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { OpenCalls } from './call/openCalls.ts';

/** Holds, charges and their way to the ledger. */
export interface Money extends OpenedHolds {
  openCalls: OpenCalls;
}

/** Opens the parts of holds, and the book of calls in progress. */
export async function openMoney(base: ServiceBase<HoldsSettings>, metrics: InferenceMetrics): Promise<Money> {
  const opened = await openHolds(base, { ...metrics, service: 'model-router' });
  const { holds, spool, shards, isOpen } = opened;
  const openCalls = new OpenCalls({ holds, metrics, log: base.log });
  metrics.observe({
    isOpen,
    openCalls: () => openCalls.size,
    spoolBytes: () => spool.bytes,
    spoolWaitingBytes: () => spool.waitingBytes,
    isSpoolHung: () => spool.isHung,
    isSpoolRefused: () => spool.isRefused,
    spoolLimitBytes: base.config.SPOOL_MAX_BYTES,
    redisMemoryShare: () => Math.max(0, ...shards.all.map(({ sessionState }) => sessionState.memoryShare)),
  });
  return { ...opened, openCalls };
}
