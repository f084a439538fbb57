import type { EnginePace } from './enginePace.ts';
import { lowerMedian } from './lowerMedian.ts';

/** An engine that takes this many times longer for a token than the others is left out. */
const SLOW_FACTOR = 4;
/** How often one that was left out gets a call all the same. */
const RETRY_MS = 10_000;

interface Paced {
  readonly weight: number;
  readonly book: { readonly pace: EnginePace; readonly calls: number };
}

/**
 * Leaves out engines that are much slower than the others, as a throttled one is: for a call now and then they stay in,
 * which tells when they have recovered. A lighter engine may be slower in proportion.
 */
export function withoutSlow<Engine extends Paced>(engines: readonly Engine[], nowMs: number): readonly Engine[] {
  // Of two engines the quicker one; where none is known, none is slow.
  const usual = lowerMedian(engines.map(slownessOf).filter((slowness) => slowness > 0)) ?? Number.POSITIVE_INFINITY;
  const remaining = engines.filter((engine) => {
    const { pace, calls } = engine.book;
    const isDueForRetry = calls === 0 && nowMs - pace.measuredAtMs > RETRY_MS;
    return slownessOf(engine) <= SLOW_FACTOR * usual || isDueForRetry;
  });
  return remaining.length > 0 ? remaining : engines;
}

/** Milliseconds for a token, as an engine of weight 1; 0 where it is not known yet. */
const slownessOf = ({ weight, book: { pace } }: Paced): number =>
  pace.msPerToken === undefined ? 0 : pace.msPerToken * weight;
