import { createThrottle } from '@turnpike/request-throttle/createThrottle';
import type { RequestHandler } from 'express';
import type { Refuse } from '../api/refuse.ts';
import { findClientAddress } from './findClientAddress.ts';

/** Addresses remembered: some 10 MB at most, whatever a flood invents. */
const MAX_ADDRESSES = 100_000;

export interface FloodLimit {
  requestsPerMinute: number;
  burst: number;
}

/** Refuses requests above the flood limit of their source IP before anything else looks at them. */
export function createFloodGate({
  limit,
  trustedHops,
  refuse,
}: {
  limit: FloodLimit;
  trustedHops: number;
  refuse: Refuse;
}): RequestHandler {
  const throttle = createThrottle({ ...limit, maxNames: MAX_ADDRESSES });
  return (req, res, next) => {
    const { isAllowed, waitMs } = throttle.takeRequest(findClientAddress(req, trustedHops).block);
    if (isAllowed) return next();
    refuse(res, { kind: 'flood_limit_exceeded', resetMs: waitMs });
  };
}
