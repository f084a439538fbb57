import type { WorkspaceBody } from '@turnpike/internal-api/auth';
import type { VersionedWorkspace } from '../workspaces/putWorkspace.ts';

/** A workspace as the operator reads it. */
export function toWorkspaceBody(workspace: VersionedWorkspace): WorkspaceBody {
  return {
    workspace_id: workspace.workspaceId,
    organization_id: workspace.organizationId,
    name: workspace.name,
    // The table's checks let no other values in.
    region: workspace.region as WorkspaceBody['region'],
    billing_status: workspace.billingStatus as WorkspaceBody['billing_status'],
    monthly_cap_nano_usd: workspace.monthlyCapNanoUsd?.toString() ?? null,
    account_status: workspace.accountStatus as WorkspaceBody['billing_status'] | null,
    account_cap_nano_usd: workspace.accountCapNanoUsd?.toString() ?? null,
    version: workspace.version,
  };
}

/** A changed workspace as the log shows it: all but its name, which is the customer's. */
export const toLoggedWorkspace = ({
  workspaceId,
  organizationId,
  billingStatus,
  monthlyCapNanoUsd,
}: VersionedWorkspace) => ({
  workspaceId,
  organizationId,
  billingStatus,
  monthlyCapNanoUsd: monthlyCapNanoUsd?.toString() ?? null,
});
