import { routeOf } from '@turnpike/http-service/observeRequests';
import type { RequestMetrics } from '@turnpike/http-service/requestMetrics';
import { sendWireError } from '@turnpike/http-service/sendWireError';
import { createThrottle } from '@turnpike/request-throttle/createThrottle';
import type { RequestHandler } from 'express';
import { type EdgeFault, toEdgeError } from '../api/edgeError.ts';
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
  metrics,
}: {
  limit: FloodLimit;
  trustedHops: number;
  metrics: Pick<RequestMetrics, 'faulted'>;
}): RequestHandler {
  const throttle = createThrottle({ ...limit, maxNames: MAX_ADDRESSES });
  return (req, res, next) => {
    const { isAllowed, waitMs } = throttle.takeRequest(findClientAddress(req, trustedHops).block);
    if (isAllowed) return next();
    const fault: EdgeFault = { kind: 'flood_limit_exceeded', resetMs: waitMs };
    metrics.faulted({ route: routeOf(res), fault: fault.kind });
    sendWireError(res, toEdgeError(fault));
  };
}
