import type { VersionedWorkspace } from '../workspaces/putWorkspace.ts';

/** A workspace as the operator reads it. */
export function toWorkspaceBody(workspace: VersionedWorkspace) {
  return {
    workspace_id: workspace.workspaceId,
    organization_id: workspace.organizationId,
    name: workspace.name,
    region: workspace.region,
    billing_status: workspace.billingStatus,
    monthly_cap_nano_usd: workspace.monthlyCapNanoUsd?.toString() ?? null,
    version: workspace.version,
  };
}

/** What the log says of a workspace that was changed: all but its name, which is the customer's. */
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
