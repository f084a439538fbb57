import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { sql } from '@turnpike/postgres/sql';
import { ApiError } from '@turnpike/public-api/apiError';
import type { AuthServiceFault } from '../api/authServiceError.ts';
import type { Db } from '../database/openDatabases.ts';
import type { VersionedWorkspace } from './putWorkspace.ts';
import { getWorkspace } from './readWorkspaces.ts';

export type HoldChange = 'hold' | 'release';

const HOLD_CHANGES = { hold: { from: 'active', to: 'on_hold' }, release: { from: 'on_hold', to: 'active' } };

/**
 * Puts a workspace on hold or releases it; where that is done already, nothing changes. Throws `workspace_not_found`, and
 * `workspace_not_provisioned`: what was never set up for billing has nothing to hold, and a release must not set it up.
 */
export async function changeHold(
  db: Db,
  { workspaceId, change }: { workspaceId: string; change: HoldChange },
): Promise<VersionedWorkspace> {
  const { from, to } = HOLD_CHANGES[change];
  await db.workspace.updateMany({
    where: { workspaceId, billingStatus: from },
    data: { billingStatus: to, version: { increment: 1 } },
  });
  const workspace = await getWorkspace(db, workspaceId);
  // Another operator may have undone the change since.
  if (workspace.billingStatus === 'not_provisioned')
    throw new ApiError<AuthServiceFault>({ kind: 'workspace_not_provisioned' });
  return workspace;
}

/** Sets what a workspace may spend a month, null for no cap. Throws `workspace_not_found`. */
export async function setMonthlyCap(
  db: Db,
  { workspaceId, monthlyCapNanoUsd }: { workspaceId: string; monthlyCapNanoUsd: NanoUsd | null },
): Promise<VersionedWorkspace> {
  await db.execute(sql`
    UPDATE workspace SET monthly_cap_nano_usd = ${monthlyCapNanoUsd}, version = version + 1
    WHERE workspace_id = ${workspaceId} AND monthly_cap_nano_usd IS DISTINCT FROM ${monthlyCapNanoUsd}`);
  return getWorkspace(db, workspaceId);
}

/**
 * Names a workspace. Throws `workspace_not_found`, and `workspace_named_by_account` for another name than the account layer's, whose feed
 * would put that back.
 */
export async function renameWorkspace(
  db: Db,
  { workspaceId, name }: { workspaceId: string; name: string },
): Promise<VersionedWorkspace> {
  await db.workspace.updateMany({
    where: { workspaceId, accountVersion: null, name: { not: name } },
    data: { name, version: { increment: 1 } },
  });
  const workspace = await getWorkspace(db, workspaceId);
  if (workspace.name !== name && workspace.accountStatus !== null)
    throw new ApiError<AuthServiceFault>({ kind: 'workspace_named_by_account' });
  return workspace;
}
