import { authApi } from '@turnpike/internal-api/auth';
import { createFaultWording } from '@turnpike/internal-api/serveApi';
import { ApiError } from '@turnpike/public-api/apiError';
import { type AuthErrorOptions, isAuthFault, toServiceAuthError } from '@turnpike/public-api/authFault';
import { isLookUpFault, toServiceLookUpError } from '@turnpike/public-api/lookUpFault';
import { bare, flat, type WireError } from '@turnpike/public-api/wireError';
import { isSpendFault, type SpendFault } from './authServiceFault.ts';

/** Words what a handler of `/v1/svc/key` threw. Undefined for what nobody foresaw. */
export function toPublicError(error: unknown, options: AuthErrorOptions): WireError | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const { fault } = error;
  // Here our own database is the dependency that is down, and the status for that is 502.
  if (fault.kind === 'auth_unavailable') return bare(502, 'upstream router auth unavailable');
  if (isAuthFault(fault)) return toServiceAuthError(fault, options);
  if (isLookUpFault(fault)) return toServiceLookUpError(fault);
  return isSpendFault(fault) ? toSpendError(fault) : undefined;
}

const wordFault = createFaultWording(authApi);

/** Words what a handler of the internal listener threw. Undefined for what nobody foresaw. */
export function toInternalError(error: unknown, options: AuthErrorOptions): WireError | undefined {
  if (error instanceof ApiError && isAuthFault(error.fault)) return toServiceAuthError(error.fault, options);
  return wordFault(error);
}

function toSpendError(fault: SpendFault): WireError {
  switch (fault.kind) {
    case 'too_many_look_ups':
      return flat(
        503,
        'service_unavailable',
        { message: 'Too many keys are looked up at once. Retry with backoff.' },
        { 'retry-after': '1' },
      );
    case 'router_unavailable':
      return bare(502, 'upstream router unavailable');
    case 'router_refused_credentials':
      return bare(502, 'upstream router auth unavailable');
    case 'router_malformed_response':
      return bare(502, 'upstream router malformed response');
  }
}
