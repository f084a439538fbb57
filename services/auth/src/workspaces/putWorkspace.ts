import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { sqlStateOf } from '@turnpike/postgres/databaseFailure';
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
  const put = sql`
    INSERT INTO workspace (workspace_id, organization_id, name, region, billing_status, monthly_cap_nano_usd)
    VALUES (${workspaceId}, ${organizationId}, ${name}, ${region}, ${billingStatus}, ${monthlyCapNanoUsd})
    ON CONFLICT (workspace_id) DO UPDATE SET
      name = EXCLUDED.name,
      billing_status = EXCLUDED.billing_status,
      monthly_cap_nano_usd = EXCLUDED.monthly_cap_nano_usd,
      version = workspace.version + 1
    WHERE workspace.organization_id = EXCLUDED.organization_id
      AND (workspace.name, workspace.billing_status, workspace.monthly_cap_nano_usd)
        IS DISTINCT FROM (EXCLUDED.name, EXCLUDED.billing_status, EXCLUDED.monthly_cap_nano_usd)`;
  await db.execute(put).catch((error: unknown) => {
    if (sqlStateOf(error) !== '23505') throw error; // but a unique violation: the organization has another
    throw new ApiError<AuthServiceFault>({ kind: 'workspace_conflict' });
  });
  const workspace = await db.workspace.findUniqueOrThrow({ where: { workspaceId } });
  if (workspace.organizationId !== organizationId) throw new ApiError<AuthServiceFault>({ kind: 'workspace_conflict' });
  return workspace;
}
