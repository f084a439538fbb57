import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceError.ts';
import type { Db } from '../database/openDatabases.ts';

export interface Workspace {
  workspaceId: string;
  organizationId: string;
  name: string;
  region: string;
  billingStatus: string;
  monthlyCapNanoUsd: NanoUsd | null;
}

/** A workspace and how often it was changed: the version rises with every change. */
export type VersionedWorkspace = Workspace & {
  version: number;
  /** The account layer's side, null where the account layer does not know the workspace. */
  accountStatus: string | null;
  accountCapNanoUsd: NanoUsd | null;
};

/** Creates a workspace. Throws `workspace_exists`, and `workspace_conflict` for a second workspace of an organization. */
export async function createWorkspace(db: Db, wanted: Workspace): Promise<VersionedWorkspace> {
  const { count } = await db.workspace.createMany({ data: wanted, skipDuplicates: true });
  const workspace = await db.workspace.findUnique({ where: { workspaceId: wanted.workspaceId } });
  if (!workspace) throw new ApiError<AuthServiceFault>({ kind: 'workspace_conflict' });
  if (count === 0) throw new ApiError<AuthServiceFault>({ kind: 'workspace_exists' });
  return workspace;
}

/**
 * Creates a workspace or brings it up to date; its version rises only if something changed. Throws `workspace_conflict`
 * for a second workspace of an organization, and for one that would change its organization.
 */
export async function putWorkspace(db: Db, wanted: Workspace): Promise<VersionedWorkspace> {
  const { workspaceId, organizationId, name, region, billingStatus, monthlyCapNanoUsd } = wanted;
  const added = await db.execute(sql`
    INSERT INTO workspace (workspace_id, organization_id, name, region, billing_status, monthly_cap_nano_usd)
    VALUES (${workspaceId}, ${organizationId}, ${name}, ${region}, ${billingStatus}, ${monthlyCapNanoUsd})
    ON CONFLICT DO NOTHING`);
  if (added === 0)
    await db.execute(sql`
      UPDATE workspace SET
        name = ${name}, billing_status = ${billingStatus}, monthly_cap_nano_usd = ${monthlyCapNanoUsd}, version = version + 1
      WHERE workspace_id = ${workspaceId} AND organization_id = ${organizationId}
        AND (name, billing_status, monthly_cap_nano_usd) IS DISTINCT FROM (${name}, ${billingStatus}, ${monthlyCapNanoUsd}::BIGINT)`);
  const workspace = await db.workspace.findUnique({ where: { workspaceId } });
  // Without one, its organization has another workspace.
  if (workspace?.organizationId !== organizationId)
    throw new ApiError<AuthServiceFault>({ kind: 'workspace_conflict' });
  return workspace;
}
