import { ApiError } from '@turnpike/api-errors/apiError';
import { type AuthErrorOptions, isAuthFault, toServiceAuthError } from '@turnpike/api-errors/authFault';
import { isLookUpFault, toServiceLookUpError } from '@turnpike/api-errors/lookUpFault';
import { envelope, flat, type WireError } from '@turnpike/api-errors/wireError';
import { isUnreachable } from '@turnpike/postgres/databaseFailure';
import { isLedgerFault, type LedgerFault } from './ledgerFault.ts';

const SOON = { 'retry-after': '1' };
const LATER = { 'retry-after': '60' };

/** Makes the words for what a handler of `/v1/svc/…` or its guard threw. Undefined for what nobody foresaw. */
export function createToPublicError(options: AuthErrorOptions): (error: unknown) => WireError | undefined {
  return (error) => {
    if (!(error instanceof ApiError)) return toWireError(error);
    if (isAuthFault(error.fault)) return toServiceAuthError(error.fault, options);
    return isLookUpFault(error.fault) ? toServiceLookUpError(error.fault) : toWireError(error);
  };
}

/** Words what a handler threw. Undefined for what nobody foresaw. */
export function toWireError(error: unknown): WireError | undefined {
  if (error instanceof ApiError && isLedgerFault(error.fault)) return toLedgerError(error.fault);
  // A path that is not even well encoded: no id could be in it.
  if (error instanceof Error && error.name === 'URIError') return toLedgerError({ kind: 'usage_not_found' });
  return isUnreachable(error) ? toLedgerError({ kind: 'ledger_unavailable' }) : undefined;
}

function toLedgerError(fault: LedgerFault): WireError {
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
    case 'credit_conflict':
      return flat(409, fault.kind, { message: 'This credit id is known with another workspace or amount.' });
    case 'gate_not_told':
      return flat(
        503,
        fault.kind,
        {
          message:
            'The credit is recorded, but the gate does not know of it yet. Repeat it under the same id: it counts once.',
        },
        SOON,
      );
    case 'epoch_not_ready':
      return flat(409, fault.kind, { message: 'The balances of this epoch cannot be given. Report, and ask again.' });
    case 'reconciliation_running':
      return flat(429, fault.kind, { message: 'Other books are being added up. Ask again in a minute.' }, LATER);
    case 'dead_letter_not_found':
      return flat(404, fault.kind, { message: 'No dead letter of this id waits here.' });
    case 'unknown_topic':
      return flat(404, fault.kind, { message: 'No such topic is kept here.' });
  }
}
