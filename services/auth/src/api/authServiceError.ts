import { ApiError } from '@turnpike/api-errors/apiError';
import { type AuthErrorOptions, isAuthFault, toServiceAuthError } from '@turnpike/api-errors/authFault';
import { isLookUpFault, toServiceLookUpError } from '@turnpike/api-errors/lookUpFault';
import { bare, flat, type WireError } from '@turnpike/api-errors/wireError';
import type { InvalidRequestFault } from '@turnpike/http-service/createBodyReader';
import { type AuthServiceFault, isAuthServiceFault } from './authServiceFault.ts';

/** Words what a handler of `/v1/svc/key` threw. Undefined for what nobody foresaw. */
export function toPublicError(error: unknown, options: AuthErrorOptions): WireError | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const { fault } = error;
  // Here our own database is the dependency that is down, and the status for that is 502.
  if (fault.kind === 'auth_unavailable') return bare(502, 'upstream router auth unavailable');
  if (isAuthFault(fault)) return toServiceAuthError(fault, options);
  if (isLookUpFault(fault)) return toServiceLookUpError(fault);
  return isAuthServiceFault(fault) ? toAuthServiceError(fault) : undefined;
}

/** Words what a handler of the internal listener threw. Undefined for what nobody foresaw. */
export function toInternalError(error: unknown, options: AuthErrorOptions): WireError | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const { fault } = error;
  if (isInvalidRequest(fault))
    return flat(400, fault.kind, { message: `${fault.param} ${fault.problem}`, param: fault.param });
  if (isAuthFault(fault)) return toServiceAuthError(fault, options);
  return isAuthServiceFault(fault) ? toAuthServiceError(fault) : undefined;
}

const isInvalidRequest = (fault: { kind: string }): fault is InvalidRequestFault => fault.kind === 'invalid_request';

function toAuthServiceError(fault: AuthServiceFault): WireError {
  switch (fault.kind) {
    case 'unknown_key':
      return flat(404, fault.kind, { message: 'There is no such key.' });
    case 'key_already_registered':
      return flat(409, fault.kind, { message: 'This key is registered already.' });
    case 'key_revoked':
      return flat(409, fault.kind, { message: 'This key is revoked, which is final.' });
    case 'key_not_in_use':
      return flat(409, fault.kind, {
        message: 'Only a key in use can be rotated; this one is blocked, revoked or expired.',
      });
    case 'key_rotated':
      return flat(409, fault.kind, {
        message: `This key was rotated before: ${fault.replacedBy} is in its place. Rotate that one.`,
      });
    case 'workspace_not_found':
      return flat(404, fault.kind, { message: 'There is no such workspace.' });
    case 'workspace_exists':
      return flat(409, fault.kind, { message: 'There is a workspace of this id already.' });
    case 'workspace_not_provisioned':
      return flat(409, fault.kind, {
        message: 'This workspace is not set up for billing, so it is neither put on hold nor released.',
      });
    case 'workspace_conflict':
      return flat(409, fault.kind, {
        message: 'An organization has one workspace per region, and a workspace stays with its organization.',
      });
    case 'gate_not_told':
      return flat(
        503,
        fault.kind,
        {
          message:
            'The change is made, but the gate was not told: it may go by what was before for 30 s. Repeat the change to tell it.',
        },
        { 'retry-after': '1' },
      );
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
