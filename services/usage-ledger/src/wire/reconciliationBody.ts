import { CHECKS, type WorkspaceReport } from '../reconcile/check.ts';

/** The findings in one workspace: amounts as decimal strings of nano-dollars, counts as decimal strings too. */
export function toReconciliationBody({ workspaceId, checks, doubts }: WorkspaceReport) {
  return {
    workspace_id: workspaceId,
    checks: checks.map(({ name, unit, left, right, verdict }) => ({
      check: CHECKS[name],
      unit,
      left: String(left),
      right: String(right),
      verdict,
    })),
    doubts,
  };
}
