import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';
import type { WorkspaceReport } from './check.ts';

/** Which books an operator asks about. */
export interface AskedBooks {
  /** All where none is named. */
  workspaceId: string | undefined;
  /** Rows of sealed hours are added up as well. */
  verifiesSeals: boolean;
}
export type Reconcile = (books: AskedBooks) => Promise<WorkspaceReport[]>;

/**
 * Lets operators reconcile one at a time, as each may read every row: who asks what is being answered already shares that answer.
 * Throws `reconciliation_running` to who asks for other books meanwhile.
 */
export function createReconcileGate(reconcile: Reconcile): Reconcile {
  let running: { books: AskedBooks; reports: Promise<WorkspaceReport[]> } | undefined;
  return async (books) => {
    if (
      running &&
      (running.books.workspaceId !== books.workspaceId || running.books.verifiesSeals !== books.verifiesSeals)
    )
      throw new ApiError<LedgerFault>({ kind: 'reconciliation_running' });
    running ??= {
      books,
      reports: reconcile(books).finally(() => {
        running = undefined;
      }),
    };
    return running.reports;
  };
}
