import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Reconcile } from '../reconcile/createReconcileGate.ts';
import { toReconciliationBody } from '../wire/reconciliationBody.ts';

const querySchema = z.object({ workspace_id: z.string().min(1).max(128).optional() });

/**
 * GET /internal/reconciliation?workspace_id=: the books of one workspace, or of all, added up anew and held against Redis and
 * the prices. Reads every row, so it may take minutes; what there was no time to hold against Redis is said in `doubts`.
 */
export function getReconciliation(reconcile: Reconcile): RequestHandler {
  return async (req, res) => {
    const { workspace_id: workspaceId } = querySchema.parse(req.query);
    res.json({ workspaces: (await reconcile(workspaceId)).map(toReconciliationBody) });
  };
}
