import { keysConsoleApi } from '@turnpike/console-api/consoleApi';
import { createConsoleFaultWording } from '@turnpike/console-api/transport/serveConsoleApi';
import { authApi } from '@turnpike/internal-api/auth';
import { createFaultWording } from '@turnpike/internal-api/transport/serveApi';
import {
  type AuthErrorOptions,
  type AuthFault,
  type GuardFault,
  toServiceGuardError,
} from '@turnpike/public-api/authFault';
import { retryAfter } from '@turnpike/public-api/headers';
import { bare, findWording, flat, type WireError } from '@turnpike/public-api/wireError';
import type { SpendFault } from './authServiceFault.ts';

/** Words what a handler of `/v1/svc/key` threw. Undefined for what nobody foresaw. */
export const toPublicError = (error: unknown, options: AuthErrorOptions): WireError | undefined =>
  findWording(error, [toKeyError, (fault: GuardFault) => toServiceGuardError(fault, options)]);

const wordFault = createFaultWording(authApi);
const wordConsoleFault = createConsoleFaultWording(keysConsoleApi);

/** Words what a handler of the internal listener threw. Undefined for what nobody foresaw. */
export const toInternalError = (error: unknown, options: AuthErrorOptions): WireError | undefined =>
  findWording(error, [(fault: GuardFault) => toServiceGuardError(fault, options)]) ??
  wordFault(error) ??
  wordConsoleFault(error);

function toKeyError(fault: SpendFault | Extract<AuthFault, { kind: 'auth_unavailable' }>): WireError {
  switch (fault.kind) {
    case 'too_many_look_ups':
      return flat(
        503,
        'service_unavailable',
        { message: 'Too many keys are looked up at once. Retry with backoff.' },
        retryAfter(1),
      );
    case 'router_unavailable':
      return bare(502, 'upstream router unavailable');
    // Here our own database is the dependency that is down, and the status for that is 502.
    case 'auth_unavailable':
    case 'router_refused_credentials':
      return bare(502, 'upstream router auth unavailable');
    case 'router_malformed_response':
      return bare(502, 'upstream router malformed response');
  }
}
