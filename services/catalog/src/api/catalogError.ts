import { ApiError } from '@turnpike/api-errors/apiError';
import { isAuthFault, toModelsAuthError } from '@turnpike/api-errors/authFault';
import { isLookUpFault, toModelsLookUpError } from '@turnpike/api-errors/lookUpFault';
import { bare, envelope, flat, NEVER_RETRY, type WireError } from '@turnpike/api-errors/wireError';
import type { CatalogFault } from './catalogFault.ts';

/** How `/v1/models` words what a handler threw; undefined for what nobody foresaw. */
export function toWireError(error: unknown): WireError | undefined {
  // A path that is not even well encoded: no model id could be in it.
  if (error instanceof URIError) return toCatalogError({ kind: 'model_not_found' });
  if (!(error instanceof ApiError)) return undefined;
  if (isAuthFault(error.fault)) return toModelsAuthError(error.fault);
  if (isLookUpFault(error.fault)) return toModelsLookUpError(error.fault);
  return toCatalogError(error.fault as CatalogFault);
}

function toCatalogError(fault: CatalogFault): WireError {
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
    case 'version_not_found':
      return flat(404, fault.kind, { message: 'No catalog of this version was ever in force here.' });
    case 'model_retired':
      return flat(409, fault.kind, { message: 'This model is retired, so there is nothing to switch.' });
    case 'model_disabled_in_file':
      return flat(409, fault.kind, {
        message: 'The switch is on again, but the catalog file disables this model too: change its state there.',
      });
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
