import { createThrottle, type Throttle } from '@turnpike/request-throttle/createThrottle';

/** Most remembered addresses, some 10 MB in any flood. */
const MAX_ADDRESSES = 100_000;

export interface FloodLimit {
  requestsPerMinute: number;
  burst: number;
}

/** Counts the requests of each block of addresses against the flood limit of one, for all edges to share. */
export const createFloodThrottle = (limit: FloodLimit): Throttle =>
  createThrottle({ ...limit, maxNames: MAX_ADDRESSES, isShared: true });
