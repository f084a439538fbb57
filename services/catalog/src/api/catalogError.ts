import { ApiError } from '@turnpike/public-api/apiError';
import { isAuthFault, toModelsAuthError } from '@turnpike/public-api/authFault';
import { isLookUpFault, toModelsLookUpError } from '@turnpike/public-api/lookUpFault';
import { bare, envelope, NEVER_RETRY, type WireError } from '@turnpike/public-api/wireError';
import type { ListFault } from './catalogFault.ts';

/** How `/v1/models` words what a handler threw; undefined for what nobody foresaw. */
export function toWireError(error: unknown): WireError | undefined {
  // A path that is not even well encoded: no model id could be in it.
  if (error instanceof URIError) return toListError({ kind: 'model_not_found' });
  if (!(error instanceof ApiError)) return undefined;
  if (isAuthFault(error.fault)) return toModelsAuthError(error.fault);
  if (isLookUpFault(error.fault)) return toModelsLookUpError(error.fault);
  return toListError(error.fault as ListFault);
}

function toListError(fault: ListFault): WireError {
  switch (fault.kind) {
    case 'model_not_found':
      return envelope(
        404,
        {
          message: 'No such model here. GET /v1/models lists what this region serves.',
          type: 'invalid_request_error',
          param: 'model',
          code: 'model_not_found',
        },
        NEVER_RETRY,
      );
    case 'list_throttled':
      return envelope(
        429,
        { message: 'The model list is asked for too often. Keep a copy; it changes rarely.', type: 'rate_limit' },
        { 'retry-after': String(Math.max(1, Math.ceil(fault.waitMs / 1_000))) },
      );
    case 'router_unreachable':
      return bare(502, 'upstream router unavailable');
  }
}
