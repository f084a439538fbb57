import { createThrottle } from '@turnpike/request-throttle/createThrottle';

/** Addresses remembered: some 10 MB at most, whatever a flood invents. */
const MAX_ADDRESSES = 100_000;

export interface FloodLimit {
  requestsPerMinute: number;
  burst: number;
}

/**
 * Counts a request of a block of addresses against the flood limit of one. Returns undefined where it may pass, or how long until
 * the next one may.
 */
export type FloodGate = (block: string) => number | undefined;

export function createFloodGate(limit: FloodLimit): FloodGate {
  const throttle = createThrottle({ ...limit, maxNames: MAX_ADDRESSES });
  return (block) => {
    const { isAllowed, waitMs } = throttle.takeRequest(block);
    return isAllowed ? undefined : waitMs;
  };
}
