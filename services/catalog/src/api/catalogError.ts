import type { catalogApi } from '@turnpike/internal-api/catalog';
import type { FaultOf } from '@turnpike/internal-api/internalApi';
import { type AuthErrorOptions, type GuardFault, toModelsGuardError } from '@turnpike/public-api/authFault';
import { retryAfter, toWholeSeconds } from '@turnpike/public-api/headers';
import { bare, envelope, findWording, notServed, type WireError } from '@turnpike/public-api/wireError';

/** Why the catalog refuses a client's request. */
export type ListFault =
  | { kind: 'model_not_listed'; didYouMean: string[] }
  /** This client asks too often, or all of them together do. */
  | { kind: 'list_throttled'; of: 'address' | 'all'; perMinute: number; waitMs: number }
  /** The router was never reached, so nobody knows which models are live. */
  | { kind: 'router_unreachable' };

/** Why it refuses anybody's. */
export type CatalogFault = ListFault | FaultOf<typeof catalogApi>;

/** Makes the words of `/v1/models` for what a handler or its guard threw. Undefined for what nobody foresaw. */
export const createToWireError =
  (options: AuthErrorOptions) =>
  (error: unknown): WireError | undefined => {
    // A path that is not even well encoded: no model id could be in it.
    if (error instanceof URIError) return toListError({ kind: 'model_not_listed', didYouMean: [] });
    return findWording(error, [toListError, (fault: GuardFault) => toModelsGuardError(fault, options)]);
  };

const LIST_CALLERS = { address: 'this address', all: 'all clients together' };

function toListError(fault: ListFault): WireError {
  switch (fault.kind) {
    case 'model_not_listed':
      return notServed('No such model here. GET /v1/models lists what this region serves.', 'model_not_found', {
        param: 'model',
        did_you_mean: fault.didYouMean,
      });
    case 'list_throttled': {
      const waitSeconds = fault.waitMs / 1_000;
      const limit = `${fault.perMinute} model lists per minute for ${LIST_CALLERS[fault.of]}`;
      const message = `Rate limit reached: ${limit}. Keep a copy, which changes rarely, and retry in ${toWholeSeconds(waitSeconds)} s.`;
      return envelope(429, { message, type: 'rate_limit' }, retryAfter(waitSeconds));
    }
    case 'router_unreachable':
      return bare(502, 'upstream router unavailable');
  }
}
