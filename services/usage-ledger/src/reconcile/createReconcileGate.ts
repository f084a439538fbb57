import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerError.ts';
import type { WorkspaceReport } from './check.ts';

/** The books of an operator's request. */
export interface AskedBooks {
  /** Undefined: all workspaces. */
  workspaceId: string | undefined;
  /** Whether rows of sealed hours are added up as well. */
  verifiesSeals: boolean;
}
export type Reconcile = (books: AskedBooks) => Promise<WorkspaceReport[]>;

/**
 * Runs one reconciliation of operators at a time, because each may read every row. A request for the same books shares
 * the running one. Throws `reconciliation_running` for other books meanwhile.
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
