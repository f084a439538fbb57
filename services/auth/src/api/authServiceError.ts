import { keysConsoleApi } from '@turnpike/console-api/console/keys';
import { createConsoleFaultWording } from '@turnpike/console-api/transport/serveConsoleApi';
import { authApi } from '@turnpike/internal-api/auth';
import type { FaultOf } from '@turnpike/internal-api/internalApi';
import { createFaultWording } from '@turnpike/internal-api/transport/serveApi';
import { wordDatabaseAway } from '@turnpike/postgres/wordDatabaseAway';
import {
  type AuthErrorOptions,
  type AuthFault,
  type GuardFault,
  toServiceGuardError,
} from '@turnpike/public-api/authFault';
import { retryAfter } from '@turnpike/public-api/headers';
import { bare, findWording, flat, type WireError } from '@turnpike/public-api/wireError';

/** Why the live spend of a key cannot be told. */
export type SpendFault =
  /** More keys are looked up at once than the router is asked about. */
  | { kind: 'too_many_look_ups' }
  | { kind: 'router_unavailable' }
  | { kind: 'router_refused_credentials' }
  | { kind: 'router_malformed_response' };

/** Why auth refuses a request or cannot serve it, beside the faults of authentication itself. */
export type AuthServiceFault = SpendFault | FaultOf<typeof authApi> | FaultOf<typeof keysConsoleApi>;

/** Words what a handler of `/v1/svc/key` threw. Undefined for what nobody foresaw. */
export const toPublicError = (error: unknown, options: AuthErrorOptions): WireError | undefined =>
  findWording(error, [toKeyError, (fault: GuardFault) => toServiceGuardError(fault, options)]);

const wordFault = createFaultWording(authApi);
const wordConsoleFault = createConsoleFaultWording(keysConsoleApi);

/** Words what a handler of the internal listener threw. Undefined for what nobody foresaw. */
export const toInternalError = (error: unknown, options: AuthErrorOptions): WireError | undefined =>
  findWording(error, [(fault: GuardFault) => toServiceGuardError(fault, options)]) ??
  wordFault(error) ??
  wordConsoleFault(error) ??
  wordDatabaseAway(error);

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
