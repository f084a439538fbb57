import { usageConsoleApi } from '@turnpike/console-api/console/usage';
import { createConsoleFaultWording } from '@turnpike/console-api/transport/serveConsoleApi';
import type { FaultOf } from '@turnpike/internal-api/internalApi';
import { createFaultWording } from '@turnpike/internal-api/transport/serveApi';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import { isUnreachable } from '@turnpike/postgres/databaseFailure';
import { type AuthErrorOptions, type GuardFault, toServiceGuardError } from '@turnpike/public-api/authFault';
import { retryAfter } from '@turnpike/public-api/headers';
import { envelope, findWording, flat, type WireError } from '@turnpike/public-api/wireError';

/** Why usage is not looked up, in the ledger's own terms. */
export type UsageFault =
  /** No such id, an id of another key, or a row not written yet: from outside they are the same. */
  | { kind: 'usage_not_found' }
  /** The read request ran past its timeout. */
  | { kind: 'usage_timeout' }
  /** The ledger's database cannot be reached, or too many wait for it. */
  | { kind: 'ledger_unavailable' }
  | { kind: 'invalid_request'; param: string; problem: string };

/** Why the ledger refuses a request or cannot serve it. */
export type LedgerFault = UsageFault | FaultOf<typeof usageLedgerApi>;

const SOON = retryAfter(1);

/**
 * Converts an error of a handler of `/v1/svc/…` or its guard to the wire format. Returns undefined for unexpected
 * errors.
 */
export const createToPublicError =
  (options: AuthErrorOptions) =>
  (error: unknown): WireError | undefined =>
    findWording(error, [(fault: GuardFault) => toServiceGuardError(fault, options)]) ?? toWireError(error);

const wordFault = createFaultWording(usageLedgerApi);
const wordConsoleFault = createConsoleFaultWording(usageConsoleApi);

/** Converts an error of an internal handler to the wire format. Returns undefined for unexpected errors. */
export const toInternalError = (error: unknown): WireError | undefined =>
  wordFault(error) ?? wordConsoleFault(error) ?? toWireError(error);

function toWireError(error: unknown): WireError | undefined {
  // A path that is not even well encoded: no id could be in it.
  if (error instanceof Error && error.name === 'URIError') return toUsageError({ kind: 'usage_not_found' });
  return isUnreachable(error) ? toUsageError({ kind: 'ledger_unavailable' }) : findWording(error, [toUsageError]);
}

function toUsageError(fault: UsageFault): WireError {
  switch (fault.kind) {
    case 'usage_not_found':
      return flat(404, fault.kind, {
        message: 'There is no such request of this key. A row appears within seconds of the end of its request.',
      });
    case 'usage_timeout':
      return envelope(
        504,
        {
          message: 'The usage query took too long. Retry shortly, over a shorter range if it has one.',
          type: 'gateway_timeout',
          code: 'usage_timeout',
        },
        SOON,
      );
    case 'ledger_unavailable':
      return flat(
        503,
        'service_unavailable',
        { message: 'Usage cannot be looked up right now. Retry with backoff.' },
        SOON,
      );
    case 'invalid_request':
      return flat(400, fault.kind, { message: `${fault.param} ${fault.problem}`, param: fault.param });
  }
}
