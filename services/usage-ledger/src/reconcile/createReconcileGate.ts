import { ApiError } from '@turnpike/public-api/apiError';
import type { LedgerFault } from '../api/ledgerFault.ts';
import type { WorkspaceReport } from './check.ts';

export type Reconcile = (workspaceId: string | undefined) => Promise<WorkspaceReport[]>;

/**
 * Lets operators reconcile one at a time, as each reads every row: who asks what is being answered already shares that answer.
 * Throws `reconciliation_running` to who asks for other books meanwhile.
 */
export function createReconcileGate(reconcile: Reconcile): Reconcile {
  let running: { workspaceId: string | undefined; reports: Promise<WorkspaceReport[]> } | undefined;
  return async (workspaceId) => {
    if (running && running.workspaceId !== workspaceId)
      throw new ApiError<LedgerFault>({ kind: 'reconciliation_running' });
    running ??= {
      workspaceId,
      reports: reconcile(workspaceId).finally(() => {
        running = undefined;
      }),
    };
    return running.reports;
  };
}
