import { retryAfter } from '@turnpike/public-api/headers';
import { flat, type WireError } from '@turnpike/public-api/wireError';
import { isCanceled, isUnreachable } from './databaseFailure.ts';

/**
 * Words a database that cannot be reached or is too slow, for operators, members and other services. A change may still have been made,
 * if only its confirmation was lost. Undefined for any other error.
 */
export const wordDatabaseAway = (error: unknown): WireError | undefined =>
  isUnreachable(error) || isCanceled(error)
    ? flat(
        503,
        'service_unavailable',
        { message: 'The database of this service does not answer. See whether a change was made, and try again.' },
        retryAfter(1),
      )
    : undefined;
