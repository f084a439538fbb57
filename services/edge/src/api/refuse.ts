import { routeOf } from '@turnpike/http-service/observeRequests';
import type { RequestMetrics } from '@turnpike/http-service/requestMetrics';
import { sendWireError } from '@turnpike/http-service/sendWireError';
import type { Response } from 'express';
import { type EdgeFault, toEdgeError } from './edgeError.ts';

/** Answers a request with a fault of the edge's own, and counts the fault. */
export type Refuse = (res: Response, fault: EdgeFault) => void;

export const createRefuse =
  (metrics: Pick<RequestMetrics, 'faulted'>): Refuse =>
  (res, fault) => {
    metrics.faulted({ route: routeOf(res), fault: fault.kind });
    sendWireError(res, toEdgeError(fault));
  };
